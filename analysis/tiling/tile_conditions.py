"""
Analysis of the boolean values of a tiled group: conditions on induction variables under
which all elements of a tile are true, or all are false.

Integers and booleans computed from positions alone are evaluated for a whole tile, in
interval arithmetic whose ends are maxima and minima of affine sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects import graph
from tlf.dialects.graph.affine_tensors import (
    AffineTensor,
    KnownTensors,
    affine_tensor_of,
)
from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.tensor_types import (
    INTEGERS,
    element_type_of_value,
    integer_limits,
)
from tlf.dialects.interfaces import MovementInterface
from tlf.support.affine.affine_extrema import (
    Term,
    add_terms,
    bounds_of_term,
    maximum_of,
    minimum_of,
    negate_term,
    shift_term,
)
from tlf.support.affine.index_access import AffineSum, Box


class ElementRange(NamedTuple):
    """Least and greatest element of a tile of integers."""

    low: Term
    high: Term


class TileCondition(NamedTuple):
    """
    Terms that are at least 0 only if all elements of a tile of booleans are true, or
    false.
    """

    if_true: Term
    if_false: Term


ALWAYS: Term = AffineSum(0)
"""Term that is at least 0."""

NEVER: Term = AffineSum(-1)
"""Term that is less than 0."""

UNKNOWN = TileCondition(NEVER, NEVER)


class TileConditions:
    """Conditions of the boolean values of a tiled group."""

    def __init__(self, tiling: GroupTiling) -> None:
        self.tiling = tiling
        self._affine = affine_arguments_of(next(iter(tiling.tiles)))
        self._conditions: dict[SSAValue, TileCondition] = {}

    def condition_of(self, value: SSAValue) -> TileCondition:
        """Return the conditions under which a tile of booleans is uniform."""
        if value not in self._conditions:
            self._conditions[value] = self._evaluate_condition(value)
        return self._conditions[value]

    def _evaluate_condition(self, value: SSAValue) -> TileCondition:
        known = affine_tensor_of(value, self._affine)
        if known is not None and known.uniform_value is not None:
            is_true = bool(known.uniform_value)
            return TileCondition(*((ALWAYS, NEVER) if is_true else (NEVER, ALWAYS)))
        op = value.owner
        if not isinstance(op, Operation) or op not in self.tiling.tiles:
            return UNKNOWN
        match op:
            case graph.CompareOp():
                return self._compare_ranges(op)
            case graph.NotOp():
                return TileCondition(*reversed(self.condition_of(op.operand)))
            case graph.AndOp() if element_type_of_value(value) == i1:
                return _conjunction_of(*map(self.condition_of, op.operands))
            case graph.OrOp() if element_type_of_value(value) == i1:
                negated = (self.condition_of(each)[::-1] for each in op.operands)
                both = _conjunction_of(*(TileCondition(*each) for each in negated))
                return TileCondition(*reversed(both))
            case _ if is_plain_movement(op):
                return self.condition_of(op.operands[0])
            case _:
                return UNKNOWN

    def _compare_ranges(self, op: graph.CompareOp) -> TileCondition:
        """Return the conditions of a comparison, from the range of the difference."""
        distance = self._range_of_difference(op)
        if distance is None:
            return UNKNOWN
        return RELATION_RULES[op.relation.data](distance)

    def _range_of_difference(self, op: graph.CompareOp) -> ElementRange | None:
        """Return the range of the left minus the right operand of a comparison."""
        lhs, rhs = (affine_tensor_of(each, self._affine) for each in op.operands)
        box = self.tiling.tiles[op].result
        if lhs is not None and rhs is not None:
            return _range_of_affine_tensor(lhs - rhs, box)
        left, right = (self._range_of_operand(op, index) for index in range(2))
        if left is None or right is None:
            return None
        return subtract_ranges(left, right)

    def _range_of_operand(self, op: Operation, operand: int) -> ElementRange | None:
        """Return the range of the tile of an integer operand; None if unknown."""
        value = op.operands[operand]
        affine = affine_tensor_of(value, self._affine)
        if affine is not None:
            box = self.tiling.tiles[op].reads[operand]
            return None if box is None else _range_of_affine_tensor(affine, box)
        producer = value.owner
        if not isinstance(producer, Operation) or producer not in self.tiling.tiles:
            return None
        found = self._range_of_result(producer)
        if found is None or not self._is_representable(found, value):
            return None
        return found

    def _range_of_result(self, op: Operation) -> ElementRange | None:
        """Return the range of the tile that an operation computes; None if unknown."""
        rule = RANGE_RULES.get(type(op))
        if rule is None and not is_plain_movement(op):
            return None
        ranges = [self._range_of_operand(op, n) for n in range(len(op.operands))]
        known = [each for each in ranges if each is not None]
        if len(known) < len(ranges):
            return None
        return known[0] if rule is None else rule(*known)

    def _is_representable(self, found: ElementRange, value: SSAValue) -> bool:
        """Return `True` if the type of a value represents a range, without overflow."""
        element = element_type_of_value(value)
        if element not in INTEGERS:
            return False
        least, most = integer_limits(element)
        low, _ = bounds_of_term(found.low, self.tiling.ranges)
        _, high = bounds_of_term(found.high, self.tiling.ranges)
        return least <= low and high <= most


def is_plain_movement(op: Operation) -> bool:
    """
    Return `True` if an operation is a movement that fills no element of its result.
    """
    if not isinstance(op, MovementInterface) or len(op.operands) != 1:
        return False
    return op.padding_value(0) is None


def affine_arguments_of(op: Operation) -> KnownTensors:
    """Return the affine tensors among the arguments of the group that contains `op`."""
    group = op.parent_op()
    if not isinstance(group, graph.GroupOp):
        return {}
    pairs = zip(group.body.block.args, group.inputs, strict=True)
    tensors = ((argument, affine_tensor_of(value)) for argument, value in pairs)
    return {argument: tensor for argument, tensor in tensors if tensor is not None}


def _range_of_affine_tensor(tensor: AffineTensor, box: Box) -> ElementRange:
    """Return the range of the elements of an affine tensor in a box."""
    first, below, above = AffineSum(tensor.constant_term), 0, 0
    axes = box[len(box) - len(tensor.shape) :]
    for factor, interval, extent in zip(
        tensor.coefficients, axes, tensor.shape, strict=True
    ):
        if extent == 1:
            continue
        first += interval.offset * factor
        reach = factor * (interval.size - 1)
        below, above = below + min(0, reach), above + max(0, reach)
    return ElementRange(first + below, first + above)


def _conjunction_of(left: TileCondition, right: TileCondition) -> TileCondition:
    return TileCondition(
        minimum_of([left.if_true, right.if_true]),
        maximum_of([left.if_false, right.if_false]),
    )


def negate_range(operand: ElementRange) -> ElementRange:
    """Return the range of the negatives of elements."""
    return ElementRange(negate_term(operand.high), negate_term(operand.low))


def add_ranges(left: ElementRange, right: ElementRange) -> ElementRange:
    """Return the range of sums of elements."""
    return ElementRange(
        add_terms(left.low, right.low), add_terms(left.high, right.high)
    )


def subtract_ranges(left: ElementRange, right: ElementRange) -> ElementRange:
    """Return the range of differences of elements."""
    return add_ranges(left, negate_range(right))


def _range_of_magnitude(operand: ElementRange) -> ElementRange:
    low, high = operand
    return ElementRange(
        maximum_of([low, negate_term(high), AffineSum(0)]),
        maximum_of([high, negate_term(low)]),
    )


def _range_of_maximum(left: ElementRange, right: ElementRange) -> ElementRange:
    return ElementRange(*(maximum_of(each) for each in zip(left, right, strict=True)))


def _range_of_minimum(left: ElementRange, right: ElementRange) -> ElementRange:
    return ElementRange(*(minimum_of(each) for each in zip(left, right, strict=True)))


def _range_of_copy(operand: ElementRange) -> ElementRange:
    return operand


RANGE_RULES: Mapping[type[Operation], Callable[..., ElementRange]] = {
    graph.AbsOp: _range_of_magnitude,
    graph.AddOp: add_ranges,
    graph.CastOp: _range_of_copy,
    graph.MaximumOp: _range_of_maximum,
    graph.MinimumOp: _range_of_minimum,
    graph.NegOp: negate_range,
    graph.SubOp: subtract_ranges,
}
"""Range of the result by operation, from the ranges of the operands."""

RelationRule: TypeAlias = Callable[[ElementRange], TileCondition]
"""Conditions of a comparison from the range of the left minus the right operand."""


def _is_at_least_zero(distance: ElementRange) -> TileCondition:
    return TileCondition(distance.low, shift_term(negate_term(distance.high), -1))


def _is_above_zero(distance: ElementRange) -> TileCondition:
    return TileCondition(shift_term(distance.low, -1), negate_term(distance.high))


def _is_below_zero(distance: ElementRange) -> TileCondition:
    return _is_above_zero(negate_range(distance))


def _is_at_most_zero(distance: ElementRange) -> TileCondition:
    return _is_at_least_zero(negate_range(distance))


def _is_zero(distance: ElementRange) -> TileCondition:
    return _conjunction_of(_is_at_least_zero(distance), _is_at_most_zero(distance))


def _is_not_zero(distance: ElementRange) -> TileCondition:
    return TileCondition(*reversed(_is_zero(distance)))


RELATION_RULES: Mapping[Relation, RelationRule] = {
    Relation.EQ: _is_zero,
    Relation.NE: _is_not_zero,
    Relation.LT: _is_below_zero,
    Relation.LE: _is_at_most_zero,
    Relation.GT: _is_above_zero,
    Relation.GE: _is_at_least_zero,
}
