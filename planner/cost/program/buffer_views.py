"""
Cost model of NPU tile programs, on its schedule instead of IR: buffers of tiles, and
subviews of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tlf.analysis.buffers.subview_disjointness import BufferRegion
from tlf.dialects.collapsing_interface import find_collapsed_axis
from tlf.dialects.slice_views import row_major_strides, strides_of_reshaped_view
from tlf.planner.cost.program.instruction_nests import Buffer, BufferAccess
from tlf.support.affine.index_access import AffineSum

Shape: TypeAlias = tuple[int, ...]

ZERO = AffineSum()


@dataclass(frozen=True)
class RingWindow:
    """Slices of a ring buffer that a view covers, along one axis."""

    axis: int
    first_slice: AffineSum
    slice_count: int
    elements_per_slice: int = 1
    """Elements per slice, if other axes are collapsed into this axis."""


@dataclass(frozen=True)
class BufferView:
    """View of a modelled buffer, or of a part of it, in the shape of a tile."""

    buffer: Buffer
    shape: Shape
    strides: Shape
    """Strides in bytes by axis."""
    item_bytes: int
    """Bytes per element."""
    byte_offset: AffineSum = ZERO
    """Byte offset from the start of the buffer, without the slices of a ring."""
    ring_window: RingWindow | None = None
    region: BufferRegion = field(default_factory=BufferRegion)
    """Region of the buffer, in bytes."""

    @property
    def access(self) -> BufferAccess:
        """
        Ring slices or byte sections of the buffer that a use of this view accesses.
        """
        if self.ring_window is None:
            return BufferAccess(self.buffer, sections=self.region.sections)
        return BufferAccess(
            self.buffer, self.ring_window.first_slice, self.ring_window.slice_count
        )

    def subview_of_box(self, offsets: Sequence[AffineSum], shape: Shape) -> BufferView:
        """Return a new view of the box at `offsets` from the start of this view."""
        base, window = self.byte_offset, self.ring_window
        for axis, (offset, stride) in enumerate(
            zip(offsets, self.strides, strict=True)
        ):
            if window is not None and axis == window.axis:
                window = replace(
                    window,
                    first_slice=window.first_slice + offset,
                    slice_count=shape[axis],
                )
            else:
                base += offset * stride
        region = self._subview_region(offsets, shape)
        return replace(
            self, shape=shape, byte_offset=base, ring_window=window, region=region
        )

    def _subview_region(
        self, offsets: Sequence[AffineSum], shape: Shape
    ) -> BufferRegion:
        """
        Return the region of the buffer, in bytes, of a box at `offsets` in the view.
        """
        if self.ring_window is not None:
            return self.region.with_unknown_start()
        starts = [None if each.terms else each.constant for each in offsets]
        return self.region.subview(self.shape, self.strides, starts, shape)

    def reshape(self, shape: Shape) -> BufferView | None:
        """
        Return a view of the same elements with another shape, or `None` if no strides
        describe it.
        """
        if shape == self.shape:
            return self
        if self.ring_window is not None:
            return self._reshape_ring_window(self.ring_window, shape)
        strides = strides_of_reshaped_view(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def _reshape_ring_window(
        self, window: RingWindow, shape: Shape
    ) -> BufferView | None:
        """
        Return a view of the same ring slices with two axes collapsed, or one axis
        expanded into two; `None` if no strides describe it.
        """
        strides = list(self.strides)
        if (axis := find_collapsed_axis(self.shape, shape)) is not None:
            row, unit = (
                self.shape[axis + 1],
                window.elements_per_slice * self.shape[axis + 1],
            )
            strides[axis] = strides[axis + 1]
            if self.strides[axis] != row * strides[axis]:
                return None
        elif (axis := find_collapsed_axis(shape, self.shape)) is not None:
            row, unit = shape[axis + 1], window.elements_per_slice // shape[axis + 1]
            strides[axis] *= row
        else:
            return None
        if window.axis == axis + 1:
            return None
        if window.axis == axis:
            window = replace(window, elements_per_slice=unit)
        return replace(self, shape=shape, strides=tuple(strides), ring_window=window)

    @property
    def is_contiguous(self) -> bool:
        """True if row-major without gaps from the buffer's start, and not in a ring."""
        plain = tuple(each * self.item_bytes for each in row_major_strides(self.shape))
        return (
            self.byte_offset == AffineSum()
            and self.strides == plain
            and not self.ring_window
        )
