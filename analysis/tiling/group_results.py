"""Results of a group, and the one that its loops are built for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.producer_slices import (
    producer_slice_of,
    producer_slice_of_all,
)
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type


def results_of(operations: Sequence[Operation]) -> list[SSAValue]:
    """The values of some operations that others use, that of the last one first."""
    inside = set(operations)
    return [
        result
        for op in reversed(operations)
        for result in op.results
        if any(use.operation not in inside for use in result.uses)
    ]


def find_leading_result(
    results: Sequence[SSAValue], operations: Sequence[Operation]
) -> SSAValue | None:
    """
    The result of operations that loops are built for, where that is not the first: one
    of more elements, where neither needs the other. The first may follow its tiles.
    """
    if len(results) < 2:
        return None
    last, *others = results
    needed, found = producer_slice_of(last, set(operations)), None
    for each in others:
        if each.owner not in needed and _element_count(each) > _element_count(
            found or last
        ):
            found = each
    return found


def move_producers_last(
    leading: SSAValue, operations: Sequence[TilingInterface]
) -> list[TilingInterface]:
    """Operations in an order in which what only a result needs comes last."""
    inside = set[Operation](operations)
    chain = producer_slice_of(leading, inside)
    others = (value for op in operations if op not in chain for value in op.results)
    needed = producer_slice_of_all(others, inside)
    first = [op for op in operations if op in needed]
    return [*first, *(op for op in operations if op not in needed)]


def _element_count(value: SSAValue) -> int:
    return tensor_type(value).element_count()
