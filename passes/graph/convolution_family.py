"""
Helper of the pass `graph-merge-convolutions`: convolutions of the same images whose
results are interleaved, along one axis or along several ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.correlation_rows import CorrelationRowsInterface
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permuted_digits import PermutedDigits

GEOMETRY = frozenset({"padding"})
"""Properties in which convolutions of a family may differ."""

FIRST_WINDOW_AXIS = 2
"""First axis of the result of a convolution that numbers windows."""


@dataclass(frozen=True)
class ConvolutionFamily:
    """
    Convolutions of the same images with equally many filters, whose results, permuted
    alike, are concatenated along axes directly inside of those of windows, so that the
    concatenations interleave windows; the outermost axis is the first.
    """

    concat: graph.ConcatOp
    axes: tuple[int, ...]
    """Axes of the concatenations."""
    members: Mapping[tuple[int, ...], CorrelationRowsInterface]
    """Convolutions by their position along each of the axes."""
    permutation: PermutedDigits
    """Permutation of the result of one member."""

    @staticmethod
    def of_concat(
        concat: graph.ConcatOp, invariant: Collection[SSAValue]
    ) -> ConvolutionFamily | None:
        """
        Return the family whose results a concatenation combines, if its filters are
        invariant and one convolution can compute all; else None.
        """
        axes, parts = _nested_operands_of(concat)
        chains = {n: PermutedDigits.of_chain(part) for n, part in parts.items()}
        members: dict[tuple[int, ...], CorrelationRowsInterface] = {}
        for number, chain in chains.items():
            op = chain.source.owner
            if not isinstance(op, CorrelationRowsInterface):
                return None
            if not chain.source.has_one_use() or not _can_merge(op, invariant):
                return None
            members[number] = op
        permutation, *others = chains.values()
        is_alike = all(other.axes == permutation.axes for other in others)
        keys = {_merge_key(op) for op in members.values()}
        if len(members) < 2 or len(keys) > 1 or not is_alike:
            return None
        digits = (digit for axis in permutation.axes for digit in axis)
        if any(permutation.axis_of_source(digit) is None for digit in digits):
            return None
        family = ConvolutionFamily(concat, axes, members, permutation)
        levels = map(family.window_axis_before, range(len(axes)))
        return None if None in levels else family

    @property
    def first(self) -> CorrelationRowsInterface:
        """The first member."""
        return next(iter(self.members.values()))

    @property
    def window(self) -> Window:
        """Window of the first member, which has the strides and dilation of all."""
        return self.first.correlation.window

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of members along each of the axes."""
        return tuple(1 + max(each) for each in zip(*self.members, strict=True))

    @property
    def window_counts(self) -> tuple[int, ...]:
        """Number of windows of a member along each axis that they slide over."""
        shape = tensor_type(self.permutation.source).get_shape()
        return shape[FIRST_WINDOW_AXIS:]

    def window_axis_before(self, level: int) -> int | None:
        """
        Return the axis of windows that is directly outside of the axis of a
        concatenation, so that the concatenation interleaves its windows; or None.
        """
        axis = self.axes[level] - 1
        digits = self.permutation.axes[axis] if axis >= 0 else ()
        if len(digits) != 1:
            return None
        source = self.permutation.axis_of_source(digits[0])
        if source is None or source < FIRST_WINDOW_AXIS:
            return None
        shape = tensor_type(self.permutation.source).get_shape()
        return source - FIRST_WINDOW_AXIS if digits[0].extent == shape[source] else None


def _nested_operands_of(
    concat: graph.ConcatOp,
) -> tuple[tuple[int, ...], dict[tuple[int, ...], SSAValue]]:
    """
    Return the axes of a concatenation and of concatenations that compute all of its
    operands alike, and the operands of the innermost ones by their positions.
    """
    axes = (concat.axis.value.data,)
    parts: dict[tuple[int, ...], SSAValue] = {
        (n,): each for n, each in enumerate(concat.operands)
    }
    while True:
        inner: list[graph.ConcatOp] = []
        for part in parts.values():
            owner = part.owner
            if not isinstance(owner, graph.ConcatOp) or not part.has_one_use():
                return axes, parts
            inner.append(owner)
        kinds = {(op.axis.value.data, len(op.operands)) for op in inner}
        if len(kinds) > 1 or kinds & {
            (axis, kind[1]) for kind in kinds for axis in axes
        }:
            return axes, parts
        parts = {
            (*number, n): operand
            for number, op in zip(parts, inner, strict=True)
            for n, operand in enumerate(op.operands)
        }
        axes = (*axes, inner[0].axis.value.data)


def _can_merge(op: CorrelationRowsInterface, invariant: Collection[SSAValue]) -> bool:
    """Return `True` if a convolution has one group, invariant filters and no init."""
    has_init = op.initial_value is not None
    is_grouped = op.correlation.group_count > 1
    return not has_init and not is_grouped and op.operands[1] in invariant


def _merge_key(op: CorrelationRowsInterface) -> tuple[object, ...]:
    """Return a key that is equal for convolutions that differ in windows only."""
    properties = sorted(set(op.properties) - GEOMETRY)
    values = (op.properties[name] for name in properties)
    return (type(op), op.images, op.results[0].type, *properties, *values)
