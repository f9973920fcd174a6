"""
Planning of fusion: rule for epilogues, on the operations beside a contraction that its
epilogue uses.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tlf.analysis.tiling.group_results import results_used_outside
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import element_count_of

SHARED = "a result beside a contraction has other users and lacks axes of it"


def epilogue_objection(operations: Sequence[Operation]) -> str | None:
    """
    Return the reason why operations, in program order, may not run beside a contraction
    whose tiles are values of threads, or None if they may. The reason is a result with
    other users that lacks axes of the contraction's result. It would have to be stored
    once, so each tile would cover these axes whole, and be too narrow along the others
    for matrix instructions.
    """
    following = set[Operation]()
    max_elements = 0
    for op in operations:
        is_behind = any(operand.owner in following for operand in op.operands)
        if is_behind or isinstance(op, ContractionInterface):
            following.add(op)
        if isinstance(op, ContractionInterface):
            max_elements = max(max_elements, element_count_of(op.results[0]))
    beside = {result.owner for result in results_used_outside(operations)} - following
    is_smaller = any(
        isinstance(each, Operation) and element_count_of(each.results[0]) < max_elements
        for each in beside
    )
    return SHARED if is_smaller else None
