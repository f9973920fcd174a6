"""
Planning of fusion: rule that limits recomputation by contractions and reductions in
larger loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from xdsl.ir import SSAValue

from tlf.analysis.operations.op_facts import OpFacts, OpFactsCache
from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type

MAX_RECOMPUTE_RATIO = Fraction(5, 4)
"""Maximum ratio of iterations to elements of the result of an accumulation."""

ONE = Fraction(1)

REASON = "a contraction or reduction would be recomputed for elements around its result"


def recompute_objection(
    operations: Sequence[TilingInterface], op_facts: OpFactsCache
) -> str | None:
    """
    Return the reason why operations may not share loops with an accumulation before
    them, or None if they may.
    """
    ratios: dict[SSAValue, Fraction] = {}
    for op in operations:
        ratio = _recompute_ratio(op, ratios, op_facts)
        if ratio is None:
            continue
        if ratio > MAX_RECOMPUTE_RATIO:
            return REASON
        ratios.update(dict.fromkeys(op.results, ratio))
    return None


def has_serialized_reduction(
    operations: Sequence[TilingInterface], op_facts: OpFactsCache
) -> bool:
    """
    Return `True` if a reduction runs along a parallel axis of another reduction: in one
    loop the results of the latter would be computed one after the other.
    """
    reductions = [op for op in operations if isinstance(op, ReductionInterface)]
    if len(reductions) < 2:
        return False
    axes = AxisClasses.of(operations, op_facts)
    reduced = {
        axes.class_of(op, each)
        for op in reductions
        for each in op_facts.facts_of(op).reduction_dims
    }
    return any(
        axes.class_of(op, each) in reduced
        for op in reductions
        for each in op_facts.facts_of(op).parallel_dims
    )


def _recompute_ratio(
    op: TilingInterface,
    ratios_by_value: Mapping[SSAValue, Fraction],
    op_facts: OpFactsCache,
) -> Fraction | None:
    """
    Return the ratio of an operation's loops to the result of an accumulation that it
    depends on, or None if there is no such result.
    """
    ratios = [
        ratios_by_value[operand]
        * _iterations_per_element(op, position, op_facts.facts_of(op))
        for position, operand in enumerate(op.operands)
        if operand in ratios_by_value
    ]
    if isinstance(op, AccumulatingInterface):
        ratios.append(ONE)
    return max(ratios, default=None)


def _iterations_per_element(
    op: TilingInterface, operand_index: int, facts: OpFacts
) -> Fraction:
    """
    Return the number of iterations for each element of an operand, along its axes.
    """
    accesses = facts.indexing_maps[operand_index]
    if accesses is None:
        return ONE
    shape = tensor_type(op.operands[operand_index]).get_shape()
    iterations, elements = 1, 1
    for access, extent in zip(accesses, shape, strict=True):
        if len(access.terms) == 1 and access.terms[0][1] == 1 and extent > 1:
            iterations *= facts.extents[access.terms[0][0]]
            elements *= extent
    return Fraction(iterations, elements) if iterations > elements else ONE
