"""
Helper of the passes `graph-fold-comparisons` and `graph-int-range-narrowing` that only
reads IR: static bounds of the elements of integer tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import inf
from typing import TypeAlias, cast

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.tensor_types import (
    INTEGERS,
    element_type_of_value,
    integer_limits,
    shape_of,
)
from tlf.dialects.interfaces import ConstantInterface, MovementInterface, Scalar
from tlf.dialects.types import scalar_value
from tlf.passes.graph.condition_ranges import (
    SWAPPED_RELATIONS,
    range_implied_by_condition,
)

IntegerRange: TypeAlias = tuple[int, int]

RangeRule: TypeAlias = Callable[..., IntegerRange]

MAX_VISITED = 256
"""Maximum depth of the stack of values visited for the range of one value."""

BOOLEAN_RANGES: tuple[IntegerRange, IntegerRange] = ((1, 1), (0, 0))
"""The ranges of true and of false."""


class IntegerBounds:
    """Integer range analysis with a cache, valid while operations do not change."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, IntegerRange | None] = {}

    def range_of_tensor(self, value: SSAValue) -> IntegerRange | None:
        """
        Return the least and greatest possible element of an integer tensor, or None if
        unknown.
        """
        pending = [value]
        while pending and len(pending) < MAX_VISITED:
            each = pending[-1]
            if each in self._known:
                pending.pop()
                continue
            if missing := [
                e for e in _operands_affecting_range(each) if e not in self._known
            ]:
                pending += missing
                continue
            self._known[each] = self._compute_range_of_tensor(each)
        return self._known.get(value)

    def _compute_range_of_tensor(self, value: SSAValue) -> IntegerRange | None:
        """Return the range of an integer tensor; `None` if unknown or overflowing."""
        op = value.owner
        if not isinstance(op, Operation) or not _is_integer_tensor(value):
            return None
        element = element_type_of_value(value)
        bounds = _infer_range_of_result(
            op, [self._known[each] for each in _operands_affecting_range(value)]
        )
        least, most = integer_limits(element)
        if bounds is None:
            return (0, 1) if element == i1 else None
        return bounds if least <= bounds[0] and bounds[1] <= most else None


def _operands_affecting_range(value: SSAValue) -> Sequence[SSAValue]:
    """
    Return all operands of the producer of an integer tensor; none for other values.
    """
    op = value.owner
    return (
        tuple(op.operands)
        if isinstance(op, Operation) and _is_integer_tensor(value)
        else ()
    )


def _is_integer_tensor(value: SSAValue) -> bool:
    is_tensor = isinstance(value.type, TensorType)
    return is_tensor and element_type_of_value(value) in (*INTEGERS, i1)


def _infer_range_of_result(
    op: Operation, operand_ranges: Sequence[IntegerRange | None]
) -> IntegerRange | None:
    """Return the range of a result by its operation's rule; `None` if unknown."""
    if isinstance(op, ConstantInterface):
        return _range_of_constant(op)
    if isinstance(op, graph.IotaOp):
        return 0, shape_of(op.result)[op.axis.value.data] - 1
    if isinstance(op, graph.SelectOp):
        return _range_of_select(op, operand_ranges)
    known = [each for each in operand_ranges if each is not None]
    if len(known) < len(operand_ranges):
        return None
    if isinstance(op, MovementInterface) and len(known) == 1:
        border = op.padding_value(0)
        return (
            known[0]
            if border is None
            else _union_of_ranges([*known, _range_of_scalar(border)])
        )
    if isinstance(op, graph.CastOp):
        return None if element_type_of_value(op.result) == i1 else known[0]
    if isinstance(op, graph.CompareOp):
        return _range_of_comparison(op.relation.data, *known)
    rule = (
        LOGIC_RULES if element_type_of_value(op.results[0]) == i1 else INTEGER_RULES
    ).get(type(op))
    return None if rule is None else rule(*known)


def _range_of_select(
    op: graph.SelectOp, operand_ranges: Sequence[IntegerRange | None]
) -> IntegerRange | None:
    """
    Return the range of a `select` from those of its operands, the left one refined by
    its condition; None if unknown.
    """
    condition, *chosen = operand_ranges
    chosen[0] = _refine_range_by_condition(op.condition, op.lhs, chosen[0])
    if condition in BOOLEAN_RANGES:
        return chosen[BOOLEAN_RANGES.index(condition)]
    known = [each for each in chosen if each is not None]
    return _union_of_ranges(known) if len(known) == len(chosen) else None


def _refine_range_by_condition(
    condition: SSAValue, value: SSAValue, bounds: IntegerRange | None
) -> IntegerRange | None:
    """
    Return `bounds` of `value` restricted to elements for which `condition` is true;
    `bounds` if it implies nothing.
    """
    if (limits := range_implied_by_condition(condition, value)) is None or limits == (
        -inf,
        inf,
    ):
        return bounds
    least, most = bounds or integer_limits(element_type_of_value(value))
    least, most = max(least, limits[0]), min(most, limits[1])
    return (int(least), int(most)) if least <= most else bounds


def _range_of_comparison(
    relation: Relation, lhs: IntegerRange, rhs: IntegerRange
) -> IntegerRange:
    """
    Return the range of a comparison: 1 for the lower bound if the relation is always
    true, and for the upper bound if it may be true.
    """
    if relation in (Relation.GT, Relation.GE):
        return _range_of_comparison(SWAPPED_RELATIONS[relation], rhs, lhs)
    if relation is Relation.LT:
        return int(lhs[1] < rhs[0]), int(lhs[0] < rhs[1])
    if relation is Relation.LE:
        return int(lhs[1] <= rhs[0]), int(lhs[0] <= rhs[1])
    may_equal = int(lhs[0] <= rhs[1] and rhs[0] <= lhs[1])
    must_equal = int(lhs == rhs and lhs[0] == lhs[1])
    if relation is Relation.EQ:
        return must_equal, may_equal
    return 1 - may_equal, 1 - must_equal


def _range_of_scalar(scalar: Scalar) -> IntegerRange:
    return int(scalar), int(scalar)


def _union_of_ranges(bounds: Sequence[IntegerRange]) -> IntegerRange:
    return min(each[0] for each in bounds), max(each[1] for each in bounds)


def _range_of_constant(op: ConstantInterface) -> IntegerRange | None:
    """Return the range of a constant's elements; `None` if empty or in a side file."""
    if (splat := op.splat_attribute()) is not None:
        return _range_of_scalar(scalar_value(splat))
    constant = cast(graph.ConstantOp, op)
    if isinstance(constant.value, graph.SideFileAttr):
        return None
    array = constant.to_array()
    return (int(array.min()), int(array.max())) if array.size else None


def _range_rule_from_corners(compute: Callable[..., int]) -> RangeRule:
    """
    Return the rule of a function whose extrema are at the corners of its operands'
    ranges.
    """

    def rule(*operands: IntegerRange) -> IntegerRange:
        values = [compute(*corner) for corner in product(*operands)]
        return min(values), max(values)

    return rule


def _range_of_abs(bounds: IntegerRange) -> IntegerRange:
    ends = [abs(end) for end in bounds]
    return (0 if bounds[0] <= 0 <= bounds[1] else min(ends)), max(ends)


def _range_of_remainder(dividend: IntegerRange, divisor: IntegerRange) -> IntegerRange:
    """
    Return the range of a remainder, which has the sign of the dividend, at most its
    absolute value, and an absolute value below that of the divisor.
    """
    most = max(abs(end) for end in divisor) - 1
    return -min(most, max(0, -dividend[0])), min(most, max(0, dividend[1]))


INTEGER_RULES: Mapping[type[Operation], RangeRule] = {
    graph.AbsOp: _range_of_abs,
    graph.AddOp: _range_rule_from_corners(int.__add__),
    graph.MaximumOp: _range_rule_from_corners(max),
    graph.MinimumOp: _range_rule_from_corners(min),
    graph.MulOp: _range_rule_from_corners(int.__mul__),
    graph.NegOp: _range_rule_from_corners(int.__neg__),
    graph.RemOp: _range_of_remainder,
    graph.SubOp: _range_rule_from_corners(int.__sub__),
}
"""By operation, the rule that infers the range of its integer result."""

LOGIC_RULES: Mapping[type[Operation], RangeRule] = {
    graph.AndOp: _range_rule_from_corners(int.__and__),
    graph.OrOp: _range_rule_from_corners(int.__or__),
    graph.NotOp: _range_rule_from_corners((1).__sub__),
}
"""By operation, the rule that infers the range of its boolean result."""
