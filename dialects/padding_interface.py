"""Interface of operations that pad their first operand themselves."""

from __future__ import annotations

import abc
from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import Box, Interval


class PaddingInterface(TilingInterface):
    """
    An operation whose iterations may reach out of its first operand, and that then
    reads its border there by itself: windows with padding.
    """

    @abc.abstractmethod
    def padded_axes(self) -> Collection[int]:
        """The axes of the first operand along which windows may reach out of it."""

    @abc.abstractmethod
    def padded_tiled_implementation(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        outside: Sequence[tuple[int, int]],
    ) -> Operation:
        """
        The computation on tiles of which the first lacks, along each axis, so many
        elements before its first one and after its last one.
        """

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        rank = tensor_type(operands[0]).get_num_dims()
        return self.padded_tiled_implementation(operands, result_types, [(0, 0)] * rank)


def padded_extents(op: TilingInterface) -> Mapping[int, int]:
    """The extents of its first operand along axes that an operation pads itself."""
    if not isinstance(op, PaddingInterface):
        return {}
    shape = tensor_type(op.operands[0]).get_shape()
    return {axis: shape[axis] for axis in op.padded_axes()}


def is_implicitly_padded(interval: Interval) -> bool:
    """
    Return `True` if padding along an axis supplies the elements of an interval that lie
    outside of it.
    """
    return not interval.offset.terms


def clip_to_extents(box: Box, extents: Mapping[int, int]) -> Box:
    """Clip a box along axes that the operation pads itself."""
    if not extents:
        return box
    part = [*box]
    for axis, extent in extents.items():
        if is_implicitly_padded(box[axis]):
            part[axis] = _clip_interval(box[axis], extent)
    return tuple(part)


def padding_amounts(box: Box, part: Box) -> list[tuple[int, int]]:
    """Return the padding before and after a part of a box, along each axis."""
    counts: list[tuple[int, int]] = []
    for whole, held in zip(box, part, strict=True):
        before = (held.offset - whole.offset).constant
        counts.append((before, whole.size - held.size - before))
    return counts


def _clip_interval(interval: Interval, extent: int) -> Interval:
    first = interval.offset.constant
    low, high = max(first, 0), min(first + interval.size, extent)
    if low >= high or (low, high) == (first, first + interval.size):
        return interval
    return Interval(interval.offset + (low - first), high - low)
