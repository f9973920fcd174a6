"""Fusion rule for epilogues: operations beside a contraction that its epilogue uses."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from tlf.analysis.tiling.group_results import results_of
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type

SHARED = "others use what is computed beside a contraction, and lacks axes of it"


def objection(operations: Sequence[Operation]) -> str | None:
    """
    Return why operations, in program order, may not run beside a contraction whose
    tiles are held by threads: one of their results, that others use too, lacks axes of
    the contraction's. It would have to be stored once, so that each tile would hold
    these axes whole, and be too narrow along the others for matrix instructions. `None`
    if they may.
    """
    following = set[Operation]()
    most = 0
    for op in operations:
        is_behind = any(operand.owner in following for operand in op.operands)
        if is_behind or isinstance(op, ContractionInterface):
            following.add(op)
        if isinstance(op, ContractionInterface):
            most = max(most, _element_count(op))
    beside = {result.owner for result in results_of(operations)} - following
    is_smaller = any(
        isinstance(e, Operation) and _element_count(e) < most for e in beside
    )
    return SHARED if is_smaller else None


def _element_count(op: Operation) -> int:
    """The elements of a result."""
    return prod(tensor_type(op.results[0]).get_shape())
