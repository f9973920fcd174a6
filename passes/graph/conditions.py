"""Ranges of numbers, implied by conditions that hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor, inf, isnan, trunc

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.splats import splat_of
from tlf.dialects.graph.tensors import element_of
from tlf.dialects.interfaces import Scalar
from tlf.dialects.types import is_float

MOST = 16
"""So many parts of a condition are looked at."""

MIRRORED: Mapping[Relation, Relation] = {
    Relation.EQ: Relation.EQ,
    Relation.NE: Relation.NE,
    Relation.LT: Relation.GT,
    Relation.LE: Relation.GE,
    Relation.GT: Relation.LT,
    Relation.GE: Relation.LE,
}
"""The relation of the second number to the first one."""


def limits_under(condition: SSAValue, value: SSAValue) -> tuple[float, float] | None:
    """
    The least and the greatest that whole numbers can be where a condition holds, by
    what it compares with numbers: them, or the floats that they are without their
    fractions. Infinite where it tells nothing; None where it cannot hold.
    """
    source, is_cut = _source(value)
    least, most = -inf, inf
    for compared, relation, number in _compared(condition):
        if compared not in (value, source) or isnan(number):
            continue
        low, high = _limits(relation, number, is_cut and compared is source)
        least, most = max(least, low), min(most, high)
    return (least, most) if least <= most else None


def _source(value: SSAValue) -> tuple[SSAValue, bool]:
    """The floats that whole numbers are made of, if they are."""
    op = value.owner
    if isinstance(op, graph.CastOp) and is_float(element_of(op.operand)):
        return op.operand, True
    return value, False


def _compared(condition: SSAValue) -> Iterator[tuple[SSAValue, Relation, Scalar]]:
    """
    Yield the relations of values to numbers that have to hold for a condition to hold.
    """
    pending, looked = [condition], 0
    while pending and looked < MOST:
        looked += 1
        op = pending.pop().owner
        if isinstance(op, graph.AndOp):
            pending += op.operands
        if isinstance(op, graph.CompareOp):
            yield from _sides(op)


def _sides(op: graph.CompareOp) -> Iterator[tuple[SSAValue, Relation, Scalar]]:
    """The values that are compared with a number."""
    relation = op.relation.data
    if (number := splat_of(op.rhs)) is not None:
        yield op.lhs, relation, number
    if (number := splat_of(op.lhs)) is not None:
        yield op.rhs, MIRRORED[relation], number


def _limits(relation: Relation, number: float, is_cut: bool) -> tuple[float, float]:
    """
    The least and the greatest whole numbers in a relation to a number; with `is_cut`,
    of floats in it whose fractions are cut off.
    """
    if relation is Relation.NE:
        return -inf, inf
    least = _above(number, relation is Relation.GT, is_cut)
    most = -_above(-number, relation is Relation.LT, is_cut)
    if relation in (Relation.LT, Relation.LE):
        return -inf, most
    return (least, most) if relation is Relation.EQ else (least, inf)


def _above(number: float, is_strict: bool, is_cut: bool) -> float:
    """The least whole number from a number on, or beyond it."""
    if number in (-inf, inf):
        return -inf
    if is_cut:
        # Nothing is cut off a whole number; others are cut towards 0.
        is_next = is_strict and number < 0 and number == floor(number)
        return trunc(number) + is_next
    return floor(number) + 1 if is_strict else ceil(number)
