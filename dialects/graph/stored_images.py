"""
Images as operations on windows read them: axes in memory with the channels last or
first, and the gathers of windows as the rows of a matrix.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self, cast

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.im2col import Im2colOp
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.tensor_types import shape_of, to_integers_attribute
from tlf.dialects.interfaces import Scalar, to_affine_map
from tlf.dialects.mixed_offsets import IntArray
from tlf.support.affine.index_access import IndexAccess

IMAGE_RANK = 3
"""Least number of axes of images: images, channels, and one that windows slide over."""

CHANNEL_AXIS = 1
"""Axis of channels of images."""


@dataclass(frozen=True)
class _WindowDims:
    """Dims of a basis along which windows, their taps, and images are numbered."""

    windows: range
    taps: range
    image: int = 0


@dataclass(frozen=True)
class StoredImages:
    """
    Images in memory: N x axes x C if `is_channels_last`, else N x C x axes, for any
    number of axes that windows slide over.
    """

    value: SSAValue
    is_channels_last: bool

    @property
    def image_count(self) -> int:
        """Number of images."""
        return shape_of(self.value)[0]

    @property
    def channel_count(self) -> int:
        """Number of channels."""
        return shape_of(self.value)[-1 if self.is_channels_last else 1]

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the axes that windows slide over."""
        shape = shape_of(self.value)
        return tuple(shape[1:-1] if self.is_channels_last else shape[2:])

    def output_extents(self, window: Window) -> tuple[int, ...]:
        """Return the number of windows along each axis."""
        return window.output_extents((1, 1, *self.extents))

    def row_count(self, window: Window) -> int:
        """Return the number of windows in all images."""
        return self.image_count * prod(self.output_extents(window))

    def gather_window_rows(
        self, builder: Builder, window: Window, group_count: int = 1
    ) -> SSAValue:
        """
        Build the matrix of windows: one row per window, with its elements in all
        channels as columns, channels last as in memory, or first. With several groups
        of channels, one matrix per group.
        """
        if window.is_pointwise and self.is_channels_last and group_count == 1:
            shape = (self.row_count(window), self.channel_count)
            return builder.insert(ReshapeOp(self.value, shape)).result
        per_group = self.channel_count // group_count
        channels = [per_group]
        columns = (
            [*window.taps, *channels]
            if self.is_channels_last
            else [*channels, *window.taps]
        )
        rows = [self.image_count, *self.output_extents(window)]
        basis = [rows, columns] if group_count == 1 else [[group_count], rows, columns]
        first = int(group_count > 1)
        tap = first + len(rows) + (0 if self.is_channels_last else 1)
        channel = first + len(rows) + (window.rank if self.is_channels_last else 0)
        group = ((0, per_group),) if group_count > 1 else ()
        access = IndexAccess((*group, (channel, 1)))
        rank = window.rank
        dims = _WindowDims(
            range(first + 1, first + 1 + rank), range(tap, tap + rank), first
        )
        return self._build_gather(builder, window, basis, access, dims, 0)

    @property
    def tap_axis(self) -> int:
        """Axis of the elements of a window in the tensor that `gather_taps` builds."""
        return 1 if self.is_channels_last else 2

    def gather_taps(
        self, builder: Builder, window: Window, fill: Scalar, repeats: int = 1
    ) -> SSAValue:
        """
        Build the tensor of windows, where every channel is repeated: windows of all
        images x taps x channels, or images x channels x taps x windows, in the order in
        which elements are contiguous.
        """
        outputs, taps = list(self.output_extents(window)), list(window.taps)
        channels = [self.channel_count, *([repeats] if repeats > 1 else [])]
        count, rank = self.image_count, window.rank
        if self.is_channels_last:
            basis = [[count, *outputs], taps, channels]
            dims = _WindowDims(range(1, 1 + rank), range(1 + rank, 1 + 2 * rank))
            access = IndexAccess.of_iterator(1 + 2 * rank)
        else:
            basis = [[count], channels, taps, outputs]
            tap = 1 + len(channels)
            dims = _WindowDims(
                range(tap + rank, tap + 2 * rank), range(tap, tap + rank)
            )
            access = IndexAccess.of_iterator(1)
        return self._build_gather(builder, window, basis, access, dims, fill)

    def _build_gather(
        self,
        builder: Builder,
        window: Window,
        basis: list[list[int]],
        channel: IndexAccess,
        dims: _WindowDims,
        fill: Scalar,
    ) -> SSAValue:
        """Build the gather of windows and taps along dims of a basis."""
        spatial = window.image_accesses(dims.windows, dims.taps)
        number = IndexAccess.of_iterator(dims.image)
        accesses = (
            (number, *spatial, channel)
            if self.is_channels_last
            else (number, channel, *spatial)
        )
        map_ = to_affine_map(accesses, sum(map(len, basis))).data
        gather = Im2colOp(self.value, map_, tuple(map(tuple, basis)), fill)
        return builder.insert(gather).result


class WindowRowsInterface(Operation, abc.ABC):
    """
    Operation on the windows of images that can compute its result as a matrix: one row
    per window, with a column per channel.
    """

    @property
    def images(self) -> SSAValue:
        """Images, N x C x axes: the first operand."""
        return self.operands[0]

    @property
    @abc.abstractmethod
    def initial_value(self) -> SSAValue | None:
        """Value that the result is added to or combined with, of its shape, if any."""

    @property
    def prefers_channels_last(self) -> bool:
        """
        True if images should be stored with channels last for the operation; poolings
        read both orders alike.
        """
        return False

    @property
    @abc.abstractmethod
    def border_value(self) -> Scalar:
        """Value that elements outside of the images count as."""

    def absorb_padding(
        self, images: SSAValue, padding: Sequence[int], fill: Scalar
    ) -> Self | None:
        """
        Return a detached operation on images without their padding, which is added to
        that of the windows; None if the padding has another value.
        """
        if fill != self.border_value:
            return None
        absorbed = self.clone()
        absorbed.operands[0] = images
        own = cast(IntArray, self.properties["padding"]).get_values()
        sums = [a + b for a, b in zip(own, padding, strict=True)]
        absorbed.properties["padding"] = to_integers_attribute(sums)
        return absorbed

    @abc.abstractmethod
    def build_rows(
        self, builder: Builder, images: StoredImages, initial_rows: SSAValue | None
    ) -> SSAValue:
        """
        Build the result as a matrix, windows x channels, from images and the matrix of
        the initial value; as images x channels x windows, both, if the images are
        stored with channels first and the operation does not prefer them last.
        """
