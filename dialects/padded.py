"""Operations that can pad what they read by themselves."""

from __future__ import annotations

import abc
from collections.abc import Collection, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.access import Box, Interval
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type


class PaddedInterface(TilingInterface):
    """
    An operation whose iterations may reach out of its first operand, and that then
    reads its border there by itself: windows with padding.
    """

    @abc.abstractmethod
    def padded_axes(self) -> Collection[int]:
        """The axes of the first operand along which windows may reach out of it."""

    @abc.abstractmethod
    def tiled_padded(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        outside: Sequence[tuple[int, int]],
    ) -> Operation:
        """
        The computation on tiles of which the first lacks, along each axis, so many
        elements before its first one and after its last one.
        """

    def tiled(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        rank = tensor_type(operands[0]).get_num_dims()
        return self.tiled_padded(operands, result_types, [(0, 0)] * rank)


def is_padded(op: TilingInterface, operand: int, axis: int, interval: Interval) -> bool:
    """Whether an operation itself supplies what lies outside along an axis."""
    if operand != 0 or not isinstance(op, PaddedInterface):
        return False
    return axis in op.padded_axes() and not interval.offset.terms


def inside(op: TilingInterface, operand: int, box: Box) -> Box:
    """The part of a box of an operand that an operation does not supply itself."""
    shape = tensor_type(op.operands[operand]).get_shape()
    return tuple(
        _clipped(interval, extent)
        if is_padded(op, operand, axis, interval)
        else interval
        for axis, (interval, extent) in enumerate(zip(box, shape, strict=True))
    )


def missing(box: Box, part: Box) -> list[tuple[int, int]]:
    """How much of a box lies before and after a part of it, along each axis."""
    counts: list[tuple[int, int]] = []
    for whole, held in zip(box, part, strict=True):
        before = (held.offset - whole.offset).constant
        counts.append((before, whole.size - held.size - before))
    return counts


def _clipped(interval: Interval, extent: int) -> Interval:
    first = interval.offset.constant
    low, high = max(first, 0), min(first + interval.size, extent)
    if low >= high or (low, high) == (first, first + interval.size):
        return interval
    return Interval(interval.offset + (low - first), high - low)
