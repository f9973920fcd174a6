"""Ranges of integers implied by a boolean condition that holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor, inf, isnan, trunc

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.splat_tensors import splat_of
from tlf.dialects.graph.tensor_types import element_of
from tlf.dialects.interfaces import Scalar
from tlf.dialects.types import is_float

MAX_CONJUNCTS = 16
"""Maximum number of terms of a condition that are visited."""

SWAPPED_RELATIONS: Mapping[Relation, Relation] = {
    Relation.EQ: Relation.EQ,
    Relation.NE: Relation.NE,
    Relation.LT: Relation.GT,
    Relation.LE: Relation.GE,
    Relation.GT: Relation.LT,
    Relation.GE: Relation.LE,
}
"""For each relation, the one that holds with its operands swapped."""


def range_under_condition(
    condition: SSAValue, value: SSAValue
) -> tuple[float, float] | None:
    """
    Return the range of integers that a condition implies where it holds, by its
    comparisons with constants: them, or the floats that they are without their
    fractions. Infinite where it tells nothing; None where it cannot hold.
    """
    source, is_cut = _float_source_of(value)
    least, most = -inf, inf
    for compared, relation, number in _implied_comparisons(condition):
        if compared not in (value, source) or isnan(number):
            continue
        low, high = _range_of_relation(relation, number, is_cut and compared is source)
        least, most = max(least, low), min(most, high)
    return (least, most) if least <= most else None


def _float_source_of(value: SSAValue) -> tuple[SSAValue, bool]:
    """Return the floats that an integer tensor is cast from, and whether it is cast."""
    op = value.owner
    if isinstance(op, graph.CastOp) and is_float(element_of(op.operand)):
        return op.operand, True
    return value, False


def _implied_comparisons(
    condition: SSAValue,
) -> Iterator[tuple[SSAValue, Relation, Scalar]]:
    """Yield the comparisons with constants that a condition implies."""
    pending, looked = [condition], 0
    while pending and looked < MAX_CONJUNCTS:
        looked += 1
        op = pending.pop().owner
        if isinstance(op, graph.AndOp):
            pending += op.operands
        if isinstance(op, graph.CompareOp):
            yield from _comparisons_with_constants(op)


def _comparisons_with_constants(
    op: graph.CompareOp,
) -> Iterator[tuple[SSAValue, Relation, Scalar]]:
    """
    Yield an operand that a comparison compares with a constant, as left-hand side.
    """
    relation = op.relation.data
    if (number := splat_of(op.rhs)) is not None:
        yield op.lhs, relation, number
    if (number := splat_of(op.lhs)) is not None:
        yield op.rhs, SWAPPED_RELATIONS[relation], number


def _range_of_relation(
    relation: Relation, number: float, is_cut: bool
) -> tuple[float, float]:
    """
    Return the range of integers in a relation to a constant; with `is_cut`, of floats
    whose fractions are truncated.
    """
    if relation is Relation.NE:
        return -inf, inf
    least = _min_integer_above(number, relation is Relation.GT, is_cut)
    most = -_min_integer_above(-number, relation is Relation.LT, is_cut)
    if relation in (Relation.LT, Relation.LE):
        return -inf, most
    return (least, most) if relation is Relation.EQ else (least, inf)


def _min_integer_above(number: float, is_strict: bool, is_cut: bool) -> float:
    """Return the smallest integer at or above a number, or strictly above it."""
    if number in (-inf, inf):
        return -inf
    if is_cut:
        # Nothing is cut off a whole number; others are cut towards 0.
        is_next = is_strict and number < 0 and number == floor(number)
        return trunc(number) + is_next
    return floor(number) + 1 if is_strict else ceil(number)
