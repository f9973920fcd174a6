"""
Rewrite rules of `graph.select` and `graph.compare`, in the `graph` dialect: folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.comparison_and_logic import CompareOp, NotOp, Relation, SelectOp
from tlf.dialects.graph.rewrites.algebraic_simplifications import reuse_value
from tlf.dialects.graph.splat_tensors import build_splat_tensor, splat_scalar_of
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import is_float, tensor_type

INVERSE_RELATIONS: Mapping[Relation, Relation] = {
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


def fold_select_of_known_value(op: Operation) -> Iterable[Simplification]:
    """
    Yield the simplifications of a select with a known condition or equal operands to
    one operand; change no IR.
    """
    if not isinstance(op, SelectOp):
        return
    result, condition = op.result.type, splat_scalar_of(op.condition)
    if op.lhs is op.rhs and op.lhs.type == result:
        yield Simplification("select(c, x, x) = x", partial(reuse_value, op.lhs))
    for number, operand, text in (
        (1, op.lhs, "select(true, x, y) = x"),
        (0, op.rhs, "select(false, x, y) = y"),
    ):
        if condition == number and operand.type == result:
            yield Simplification(text, partial(reuse_value, operand))


def fold_select_of_booleans(op: Operation) -> Iterable[Simplification]:
    """
    Yield the simplifications of a select by a negated condition, or between true and
    false; change no IR.
    """
    if not isinstance(op, SelectOp):
        return
    if isinstance(negated := op.condition.owner, NotOp):
        build = partial(_build_select, negated.operand, op.rhs, op.lhs)
        yield Simplification("select(not(c), x, y) = select(c, y, x)", build)
    if op.condition.type != op.result.type:
        return
    match splat_scalar_of(op.lhs), splat_scalar_of(op.rhs):
        case 1, 0:
            text = "select(c, true, false) = c"
            yield Simplification(text, partial(reuse_value, op.condition))
        case 0, 1:
            text = "select(c, false, true) = not(c)"
            yield Simplification(text, partial(_build_not, op.condition))
        case _:
            pass


def _build_select(
    condition: SSAValue, lhs: SSAValue, rhs: SSAValue, builder: Builder
) -> SSAValue:
    return builder.insert(SelectOp(condition, lhs, rhs)).result


def _build_not(value: SSAValue, builder: Builder) -> SSAValue:
    return builder.insert(NotOp(value)).result


def fold_negated_comparison(op: Operation) -> Iterable[Simplification]:
    """Rewrite the negation of a comparison as the opposite comparison."""
    if not isinstance(op, NotOp) or not isinstance(op.operand.owner, CompareOp):
        return
    compare = op.operand.owner
    relation = compare.relation.data
    if is_float(element_type_of_value(compare.lhs)) and relation not in _EQUALITIES:
        return
    opposite = INVERSE_RELATIONS[relation]

    def build(builder: Builder) -> SSAValue:
        return builder.insert(CompareOp(compare.lhs, compare.rhs, opposite)).result

    yield Simplification(f"not(x {relation} y) = x {opposite} y", build)


def fold_self_comparison(op: Operation) -> Iterable[Simplification]:
    """Fold `x relation x`, for floats only where NaN makes no difference."""
    if not isinstance(op, CompareOp) or op.lhs is not op.rhs:
        return
    relation = op.relation.data
    if is_float(element_type_of_value(op.lhs)) and relation not in _STRICT:
        return
    outcome = relation in _REFLEXIVE
    build = partial(
        build_splat_tensor, number=int(outcome), type_=tensor_type(op.result)
    )
    text = f"x {relation} x = {'true' if outcome else 'false'}"
    yield Simplification(text, build)
