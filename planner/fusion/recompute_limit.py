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
    ContractionInterface,
    ReductionInterface,
    ScanInterface,
    TilingInterface,
)
from tlf.dialects.types import element_count_of, tensor_type

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
    Return `True` if a reduction or a scan runs along a parallel axis of another one, or
    a scan along one of a contraction: in one loop the results of the latter would be
    computed one after the other.
    """
    has_scans = any(isinstance(op, ScanInterface) for op in operations)
    kinds = (
        (AccumulatingInterface, ScanInterface) if has_scans else (ReductionInterface,)
    )
    found = [op for op in operations if isinstance(op, kinds)]
    if len(found) < 2:
        return False
    axes = AxisClasses.of(operations, op_facts)
    sequential = {
        axes.class_of(op, each)
        for op in found
        if not isinstance(op, ContractionInterface)
        for each in _sequential_dims_of(op_facts.facts_of(op))
    }
    return any(
        axes.class_of(op, each) in sequential
        for op in found
        for each in op_facts.facts_of(op).parallel_dims
        if each != op_facts.facts_of(op).scan_iterator
    )


def has_spread_scan(operations: Sequence[TilingInterface]) -> bool:
    """
    Return `True` if the result of a scan is broadcast: in one loop its tiles, which are
    computed one after the other, would take the place of the tiles of a larger result.
    """
    scanned: dict[SSAValue, int] = {}
    for op in operations:
        counts = [scanned[each] for each in op.operands if each in scanned]
        size = element_count_of(op.results[0])
        if any(size > count for count in counts):
            return True
        if isinstance(op, ScanInterface):
            counts.append(size)
        if counts:
            scanned.update(dict.fromkeys(op.results, min(counts)))
    return False


def _sequential_dims_of(facts: OpFacts) -> Sequence[int]:
    """Return the iterators along which a reduction or a scan combines elements."""
    scanned = facts.scan_iterator
    return facts.reduction_dims if scanned is None else (scanned,)


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
