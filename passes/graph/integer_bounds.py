"""The least and the greatest of whole numbers that are known when compiling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import inf
from typing import TypeAlias, cast

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.tensors import INTEGERS, element_of, integer_limits, shape_of
from tlf.dialects.interfaces import ConstantInterface, MovementInterface, Scalar
from tlf.dialects.types import scalar_value
from tlf.passes.graph.conditions import MIRRORED, limits_under

Bounds: TypeAlias = tuple[int, int]

Rule: TypeAlias = Callable[..., Bounds]

MOST = 256
"""So many values are looked at for one."""

ALWAYS: tuple[Bounds, Bounds] = ((1, 1), (0, 0))
"""The bounds of what is true, and of what is false."""


class IntegerBounds:
    """Finds the bounds of values, each once, while operations stay what they are."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Bounds | None] = {}

    def of(self, value: SSAValue) -> Bounds | None:
        """The bounds of a tensor of whole numbers, if something is known of them."""
        pending = [value]
        while pending and len(pending) < MOST:
            each = pending[-1]
            if each in self._known:
                pending.pop()
                continue
            if missing := [e for e in _read(each) if e not in self._known]:
                pending += missing
                continue
            self._known[each] = self._found(each)
        return self._known.get(value)

    def _found(self, value: SSAValue) -> Bounds | None:
        op = value.owner
        if not isinstance(op, Operation) or not _is_whole(value):
            return None
        element = element_of(value)
        found = _ruled(op, [self._known[each] for each in _read(value)])
        least, most = integer_limits(element)
        if found is None:
            return (0, 1) if element == i1 else None
        return found if least <= found[0] and found[1] <= most else None


def _read(value: SSAValue) -> Sequence[SSAValue]:
    """Return the values that the bounds of a value may depend on."""
    op = value.owner
    return tuple(op.operands) if isinstance(op, Operation) and _is_whole(value) else ()


def _is_whole(value: SSAValue) -> bool:
    is_tensor = isinstance(value.type, TensorType)
    return is_tensor and element_of(value) in (*INTEGERS, i1)


def _ruled(op: Operation, operands: Sequence[Bounds | None]) -> Bounds | None:
    if isinstance(op, ConstantInterface):
        return _constant(op)
    if isinstance(op, graph.IotaOp):
        return 0, shape_of(op.result)[op.axis.value.data] - 1
    if isinstance(op, graph.SelectOp):
        return _selected(op, operands)
    known = [each for each in operands if each is not None]
    if len(known) < len(operands):
        return None
    if isinstance(op, MovementInterface) and len(known) == 1:
        border = op.border(0)
        return known[0] if border is None else _union([*known, _number(border)])
    if isinstance(op, graph.CastOp):
        return None if element_of(op.result) == i1 else known[0]
    if isinstance(op, graph.CompareOp):
        return _compared(op.relation.data, *known)
    rule = (LOGIC if element_of(op.results[0]) == i1 else RULES).get(type(op))
    return None if rule is None else rule(*known)


def _selected(op: graph.SelectOp, operands: Sequence[Bounds | None]) -> Bounds | None:
    """The bounds of what is chosen, where the condition tells of it, too."""
    condition, *chosen = operands
    chosen[0] = _under(op.condition, op.lhs, chosen[0])
    if condition in ALWAYS:
        return chosen[ALWAYS.index(condition)]
    known = [each for each in chosen if each is not None]
    return _union(known) if len(known) == len(chosen) else None


def _under(
    condition: SSAValue, value: SSAValue, bounds: Bounds | None
) -> Bounds | None:
    """The bounds of a value where a condition holds."""
    if (limits := limits_under(condition, value)) is None or limits == (-inf, inf):
        return bounds
    least, most = bounds or integer_limits(element_of(value))
    least, most = max(least, limits[0]), min(most, limits[1])
    return (int(least), int(most)) if least <= most else bounds


def _compared(relation: Relation, lhs: Bounds, rhs: Bounds) -> Bounds:
    """
    Return the bounds of a comparison: 1 or 0 for whether the relation always holds, and
    for whether it may.
    """
    if relation in (Relation.GT, Relation.GE):
        return _compared(MIRRORED[relation], rhs, lhs)
    if relation is Relation.LT:
        return int(lhs[1] < rhs[0]), int(lhs[0] < rhs[1])
    if relation is Relation.LE:
        return int(lhs[1] <= rhs[0]), int(lhs[0] <= rhs[1])
    may_equal = int(lhs[0] <= rhs[1] and rhs[0] <= lhs[1])
    must_equal = int(lhs == rhs and lhs[0] == lhs[1])
    if relation is Relation.EQ:
        return must_equal, may_equal
    return 1 - may_equal, 1 - must_equal


def _number(number: Scalar) -> Bounds:
    return int(number), int(number)


def _union(bounds: Sequence[Bounds]) -> Bounds:
    return min(each[0] for each in bounds), max(each[1] for each in bounds)


def _constant(op: ConstantInterface) -> Bounds | None:
    if (splat := op.splat()) is not None:
        return _number(scalar_value(splat))
    constant = cast(graph.ConstantOp, op)
    if isinstance(constant.value, graph.FileAttr):
        return None
    array = constant.array()
    return (int(array.min()), int(array.max())) if array.size else None


def _between(compute: Callable[..., int]) -> Rule:
    """The bounds of what has its least and greatest results at those of operands."""

    def rule(*operands: Bounds) -> Bounds:
        found = [compute(*corner) for corner in product(*operands)]
        return min(found), max(found)

    return rule


def _absolute(bounds: Bounds) -> Bounds:
    ends = [abs(end) for end in bounds]
    return (0 if bounds[0] <= 0 <= bounds[1] else min(ends)), max(ends)


def _rest(dividend: Bounds, divisor: Bounds) -> Bounds:
    """A rest has the sign of the dividend, and is nearer to 0 than both."""
    most = max(abs(end) for end in divisor) - 1
    return -min(most, max(0, -dividend[0])), min(most, max(0, dividend[1]))


RULES: Mapping[type[Operation], Rule] = {
    graph.AbsOp: _absolute,
    graph.AddOp: _between(int.__add__),
    graph.MaximumOp: _between(max),
    graph.MinimumOp: _between(min),
    graph.MulOp: _between(int.__mul__),
    graph.NegOp: _between(int.__neg__),
    graph.RemOp: _rest,
    graph.SubOp: _between(int.__sub__),
}
"""By operation, the bounds of the result, given those of operands."""

LOGIC: Mapping[type[Operation], Rule] = {
    graph.AndOp: _between(int.__and__),
    graph.OrOp: _between(int.__or__),
    graph.NotOp: _between((1).__sub__),
}
"""The same for what is true or false."""
