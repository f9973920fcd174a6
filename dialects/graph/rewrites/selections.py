"""Choices that are known, and comparisons that need no second step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.logic import CompareOp, NotOp, Relation, SelectOp
from tlf.dialects.graph.rewrites.identities import kept
from tlf.dialects.graph.splats import filled, splat_of
from tlf.dialects.graph.tensors import element_of
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import is_float, tensor_type

NEGATED: Mapping[Relation, Relation] = {
    Relation.EQ: Relation.NE,
    Relation.NE: Relation.EQ,
    Relation.LT: Relation.GE,
    Relation.GE: Relation.LT,
    Relation.GT: Relation.LE,
    Relation.LE: Relation.GT,
}
"""Opposite of each relation; for NaN, only equality and inequality are opposites."""

_EQUALITIES = (Relation.EQ, Relation.NE)
_REFLEXIVE = (Relation.EQ, Relation.LE, Relation.GE)
_STRICT = (Relation.LT, Relation.GT)


def known_choice(op: Operation) -> Iterable[Simplification]:
    """A choice whose condition is known, or between equal values."""
    if not isinstance(op, SelectOp):
        return
    result, condition = op.result.type, splat_of(op.condition)
    if op.lhs is op.rhs and op.lhs.type == result:
        yield Simplification("select(c, x, x) = x", partial(kept, op.lhs))
    for number, chosen, text in (
        (1, op.lhs, "select(true, x, y) = x"),
        (0, op.rhs, "select(false, x, y) = y"),
    ):
        if condition == number and chosen.type == result:
            yield Simplification(text, partial(kept, chosen))


def choice_of_conditions(op: Operation) -> Iterable[Simplification]:
    """A choice by a negation, or between true and false."""
    if not isinstance(op, SelectOp):
        return
    if isinstance(negated := op.condition.owner, NotOp):
        build = partial(_select, negated.operand, op.rhs, op.lhs)
        yield Simplification("select(not(c), x, y) = select(c, y, x)", build)
    if op.condition.type != op.result.type:
        return
    match splat_of(op.lhs), splat_of(op.rhs):
        case 1, 0:
            text = "select(c, true, false) = c"
            yield Simplification(text, partial(kept, op.condition))
        case 0, 1:
            text = "select(c, false, true) = not(c)"
            yield Simplification(text, partial(_not, op.condition))
        case _:
            pass


def _select(
    condition: SSAValue, lhs: SSAValue, rhs: SSAValue, builder: Builder
) -> SSAValue:
    return builder.insert(SelectOp(condition, lhs, rhs)).result


def _not(value: SSAValue, builder: Builder) -> SSAValue:
    return builder.insert(NotOp(value)).result


def negated_comparison(op: Operation) -> Iterable[Simplification]:
    """Rewrite the negation of a comparison as the opposite comparison."""
    if not isinstance(op, NotOp) or not isinstance(op.operand.owner, CompareOp):
        return
    compare = op.operand.owner
    relation = compare.relation.data
    if is_float(element_of(compare.lhs)) and relation not in _EQUALITIES:
        return
    opposite = NEGATED[relation]

    def build(builder: Builder) -> SSAValue:
        return builder.insert(CompareOp(compare.lhs, compare.rhs, opposite)).result

    yield Simplification(f"not(x {relation} y) = x {opposite} y", build)


def comparison_with_itself(op: Operation) -> Iterable[Simplification]:
    """A comparison of a value with itself; of floats, only what NaN is not, either."""
    if not isinstance(op, CompareOp) or op.lhs is not op.rhs:
        return
    relation = op.relation.data
    if is_float(element_of(op.lhs)) and relation not in _STRICT:
        return
    known = relation in _REFLEXIVE
    build = partial(filled, number=int(known), type_=tensor_type(op.result))
    text = f"x {relation} x = {'true' if known else 'false'}"
    yield Simplification(text, build)
