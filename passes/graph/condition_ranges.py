"""
Helper of the passes `graph-fold-comparisons` and `graph-int-range-narrowing` that only
reads IR: ranges of integers implied by a boolean condition that is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor, inf, isnan, trunc

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_types import element_type_of_value
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
"""The equivalent of each relation with its operands swapped."""


def range_implied_by_condition(
    condition: SSAValue, value: SSAValue
) -> tuple[float, float] | None:
    """
    Return the range of an integer tensor that a condition implies where it is true.

    Comparisons of the tensor with constants bound the range, as do comparisons of the
    floats that the tensor is truncated from. Unbounded sides are infinite; None if the
    condition cannot be true.
    """
    source, is_cut = _float_source_before_cast(value)
    least, most = -inf, inf
    for compared, relation, number in _implied_comparisons(condition):
        if compared not in (value, source) or isnan(number):
            continue
        low, high = _integer_range_of_relation(
            relation, number, is_cut and compared is source
        )
        least, most = max(least, low), min(most, high)
    return (least, most) if least <= most else None


def _float_source_before_cast(value: SSAValue) -> tuple[SSAValue, bool]:
    """
    Return the floats that an integer tensor is cast from and True, or the tensor itself
    and False.
    """
    op = value.owner
    if isinstance(op, graph.CastOp) and is_float(element_type_of_value(op.operand)):
        return op.operand, True
    return value, False


def _implied_comparisons(
    condition: SSAValue,
) -> Iterator[tuple[SSAValue, Relation, Scalar]]:
    """Yield the comparisons with constants that a condition implies."""
    pending, count = [condition], 0
    while pending and count < MAX_CONJUNCTS:
        count += 1
        op = pending.pop().owner
        if isinstance(op, graph.AndOp):
            pending += op.operands
        if isinstance(op, graph.CompareOp):
            yield from _comparisons_with_constants(op)


def _comparisons_with_constants(
    op: graph.CompareOp,
) -> Iterator[tuple[SSAValue, Relation, Scalar]]:
    """
    Yield a comparison as (operand, relation, constant), once for each constant side.
    """
    relation = op.relation.data
    if (number := splat_scalar_of(op.rhs)) is not None:
        yield op.lhs, relation, number
    if (number := splat_scalar_of(op.lhs)) is not None:
        yield op.rhs, SWAPPED_RELATIONS[relation], number


def _integer_range_of_relation(
    relation: Relation, constant: float, is_truncated: bool
) -> tuple[float, float]:
    """
    Return the range of integers in a relation to a constant; with `is_truncated`, the
    range of truncated floats in that relation.
    """
    if relation is Relation.NE:
        return -inf, inf
    least = _min_integer_above(constant, relation is Relation.GT, is_truncated)
    most = -_min_integer_above(-constant, relation is Relation.LT, is_truncated)
    if relation in (Relation.LT, Relation.LE):
        return -inf, most
    return (least, most) if relation is Relation.EQ else (least, inf)


def _min_integer_above(
    lower_bound: float, is_strict: bool, is_truncated: bool
) -> float:
    """
    Return the smallest integer at or above a number, or strictly above it; with
    `is_truncated`, the smallest truncated float of that range.
    """
    if lower_bound in (-inf, inf):
        return -inf
    if is_truncated:
        # Truncation keeps integers and rounds other floats towards 0.
        is_next = is_strict and lower_bound < 0 and lower_bound == floor(lower_bound)
        return trunc(lower_bound) + is_next
    return floor(lower_bound) + 1 if is_strict else ceil(lower_bound)
