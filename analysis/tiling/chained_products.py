"""Analysis of groups: chains of two products, of which the first one has a loop."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from tlf.analysis.operations.banded_matmul import MatmulWork
from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)

MIN_CHAINED_TERMS = 512
"""Minimum number of terms of the first product, which has the loop."""

MAX_CHAINED_TERMS = 256
"""
Maximum number of terms of the second product, whose factor is the accumulator of the
loop.
"""

MIN_CHAINED_EXTENT = 16
"""Minimum extents of the second product, which matrix instructions take."""


def find_chained_product(
    operations: Sequence[TilingInterface], op_facts: OpFactsCache
) -> ContractionInterface | None:
    """
    Return the first of two products, which are all operations of a group that
    accumulate, if it sums many terms, and the second one sums few terms that depend on
    it: then the loop over the terms of the first one can end before the second one,
    which needs none. None otherwise.
    """
    accumulating = [op for op in operations if isinstance(op, AccumulatingInterface)]
    if len(accumulating) != 2:
        return None
    first, second = accumulating
    if not isinstance(first, ContractionInterface) or not isinstance(
        second, ContractionInterface
    ):
        return None
    facts = op_facts.facts_of(second)
    work = MatmulWork.of_iterators(facts.iterator_roles, facts.extents)
    is_chain = (
        prod(op_facts.facts_of(first).reduction_extents) >= MIN_CHAINED_TERMS
        and work.k <= MAX_CHAINED_TERMS
        and work.has_min_extents(MIN_CHAINED_EXTENT)
        and second in _dependent_operations(first, operations)
    )
    return first if is_chain else None


def _dependent_operations(
    first: TilingInterface, operations: Sequence[TilingInterface]
) -> set[Operation]:
    """Return the operations, in program order, that depend on one of them."""
    dependent = set[Operation]((first,))
    for op in operations:
        if any(operand.owner in dependent for operand in op.operands):
            dependent.add(op)
    return dependent
