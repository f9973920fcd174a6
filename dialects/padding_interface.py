"""Interface of operations that pad their first operand implicitly."""

from __future__ import annotations

import abc
from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import Box, Interval


class PaddingInterface(TilingInterface):
    """
    Operation whose iterations may access elements outside of its first operand, which
    it pads implicitly: windows with padding.
    """

    @abc.abstractmethod
    def implicitly_padded_axes(self) -> Collection[int]:
        """
        Return the axes of the first operand along which windows may exceed its bounds.
        """

    @abc.abstractmethod
    def padded_tiled_implementation(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        padding_counts: Sequence[tuple[int, int]],
    ) -> Operation:
        """
        Build the operation on tiles. `padding_counts` is the number of elements that
        the first tile lacks before its first and after its last element, per axis.
        """

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        rank = tensor_type(operands[0]).get_num_dims()
        return self.padded_tiled_implementation(operands, result_types, [(0, 0)] * rank)


def implicitly_padded_extents(op: TilingInterface) -> Mapping[int, int]:
    """Return the extents of the first operand along implicitly padded axes."""
    if not isinstance(op, PaddingInterface):
        return {}
    shape = tensor_type(op.operands[0]).get_shape()
    return {axis: shape[axis] for axis in op.implicitly_padded_axes()}


def is_implicitly_padded_interval(interval: Interval) -> bool:
    """
    Return `True` if implicit padding supplies the out-of-bounds elements of an
    interval.
    """
    return not interval.offset.terms


def clip_box_to_extents(box: Box, extents: Mapping[int, int]) -> Box:
    """
    Return `box` with implicitly padded intervals clipped to `extents`, given by axis.
    """
    if not extents:
        return box
    clipped = [*box]
    for axis, extent in extents.items():
        if is_implicitly_padded_interval(box[axis]):
            clipped[axis] = _clip_interval(box[axis], extent)
    return tuple(clipped)


def padding_of_clipped_box(box: Box, clipped_box: Box) -> list[tuple[int, int]]:
    """Return the padding before and after a clipped box, along each axis."""
    counts: list[tuple[int, int]] = []
    for full, clipped in zip(box, clipped_box, strict=True):
        before = (clipped.offset - full.offset).constant
        counts.append((before, full.size - clipped.size - before))
    return counts


def _clip_interval(interval: Interval, extent: int) -> Interval:
    """
    Clip an interval of constant offset to `[0, extent)`, unless nothing would remain.
    """
    first = interval.offset.constant
    low, high = max(first, 0), min(first + interval.size, extent)
    if low >= high or (low, high) == (first, first + interval.size):
        return interval
    return Interval(interval.offset + (low - first), high - low)
