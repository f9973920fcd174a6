"""Dense layout of a tensor in a GPU's global memory, and how tiles lie in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import gcd, prod

from tlf.analysis.tiling.group_tiling import TileLoop, max_end, min_start
from tlf.dialects.tile import layout_of
from tlf.dialects.types import AnyTensor, dtype_of
from tlf.machine.bursts import bus_bytes_of_array
from tlf.planner.cost.bus_burst_phases import burst_phases_of
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.support.affine.index_access import Box, Interval


@dataclass(frozen=True)
class GlobalTensor:
    """Dense global memory layout of a tensor: sizes in elements, strides in bytes."""

    shape: tuple[int, ...]
    axis_order: tuple[int, ...]
    """Axes in memory order, the contiguous axis last."""
    strides: tuple[int, ...]
    item_bytes: int

    def bytes_of_constant_box(self, box: Box) -> float:
        """
        Return the bytes of a box within the tensor, for a box with constant offsets.
        """
        inside = (
            max(0, min(each.offset.constant + each.size, n) - max(0, start))
            for each, n in zip(box, self.shape, strict=True)
            for start in (each.offset.constant,)
        )
        return float(prod(inside) * self.item_bytes)

    def sector_bytes_per_byte(self, box: Box, sector_bytes: int) -> float:
        """Return the bytes in all sectors that a box touches, divided by its own."""
        sizes = [min(each.size, n) for each, n in zip(box, self.shape, strict=True)]
        walked = tuple(sizes[axis] for axis in self.axis_order)
        strides = tuple(self.strides[axis] for axis in self.axis_order)
        starts = burst_phases_of(box, self.strides, sector_bytes)
        moved = sum(
            bus_bytes_of_array(start, walked, strides, self.item_bytes, sector_bytes)
            for start in starts
        )
        return moved / (len(starts) * prod(sizes) * self.item_bytes)

    def contiguous_bytes_of_box(self, box: Box) -> int:
        """Return the bytes of each contiguous run of a box in memory."""
        run = self.item_bytes
        for axis in reversed(self.axis_order):
            if self.strides[axis] != run and box[axis].size > 1:
                break
            run = self.strides[axis] * min(box[axis].size, self.shape[axis])
            if box[axis].size < self.shape[axis]:
                break
        return run

    def masked_row_alignment(self, box: Box) -> int:
        """
        Return the alignment in bytes of the end of a masked row, or 0 without a mask.
        """
        axis = self.axis_order[-1] if self.axis_order else None
        if axis is None or not self._can_exceed_bounds(box[axis], self.shape[axis]):
            return 0
        interval = box[axis]
        end = gcd(
            self.shape[axis], interval.size if self._is_tile_padded(interval) else 0
        )
        return end * self.item_bytes

    def needs_mask(self, box: Box) -> bool:
        """Return `True` if a tile crosses a border along some axis and needs masks."""
        return any(map(self._can_exceed_bounds, box, self.shape))

    def has_unaligned_rows(self, box: Box, sector_bytes: int) -> bool:
        """
        Return `True` if the rows of a box may start at any offset within a sector.
        """
        long = [axis for axis in self.axis_order[:-1] if box[axis].size > 1]
        varying = [
            axis
            for axis in self.axis_order[:-1]
            if box[axis].offset.terms or axis in long
        ]
        return any(self.strides[axis] % sector_bytes for axis in varying)

    @staticmethod
    def _is_tile_padded(interval: Interval) -> bool:
        return interval.tile_extent > interval.size

    @classmethod
    def _can_exceed_bounds(cls, interval: Interval, extent: int) -> bool:
        return min_start(interval) < 0 or max_end(interval) > extent

    def aligned_access_width(self, box: Box) -> int:
        """
        Return the bytes per access of a thread: contiguous elements, limited so that
        every row of the tile starts at a multiple of them.
        """
        width, run = TRITON_CALIBRATION.vector_bytes, 0
        for axis in reversed(self.axis_order):
            interval, extent = box[axis], self.shape[axis]
            stride = self.strides[axis]
            width = gcd(width, interval.offset.constant * stride)
            for symbol, factor in interval.offset.terms:
                step = symbol.tile if isinstance(symbol, TileLoop) else 1
                width = gcd(width, factor * step * stride)
            size = min(interval.size, extent)
            if size > 1 and not run:
                run = size * stride if stride == self.item_bytes else self.item_bytes
            elif size > 1:
                width = gcd(width, stride)
        return max(self.item_bytes, gcd(width, run))


@cache
def global_tensor_of(type_: AnyTensor) -> GlobalTensor:
    """Return the dense memory layout that a tensor of the type has."""
    shape = type_.get_shape()
    axes = tuple(layout_of(type_)) or tuple(range(len(shape)))
    item = dtype_of(type_.element_type).itemsize
    strides, size = dict[int, int](), item
    for axis in reversed(axes):
        strides[axis] = size
        size *= shape[axis]
    along = tuple(strides[axis] for axis in range(len(shape)))
    return GlobalTensor(shape, axes, along, item)
