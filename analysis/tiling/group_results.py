"""Analysis of the results of a group, and of the result that leads its loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.producer_slices import (
    producer_slice_of,
    producer_slice_of_all,
)
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import element_count_of


def results_used_outside(operations: Sequence[Operation]) -> list[SSAValue]:
    """
    Return the results of operations that are used outside, those of the last operation
    first.
    """
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
    Return the result that leads the loops, if it is not the first one: the result with
    the most elements, if it has more than the first and the first does not depend on
    it. The first result may follow the tiles of the leading one.
    """
    if len(results) < 2:
        return None
    last, *remaining = results
    producers, leading = producer_slice_of(last, set(operations)), None
    for each in remaining:
        if each.owner not in producers and element_count_of(each) > element_count_of(
            leading or last
        ):
            leading = each
    return leading


def move_producers_last(
    leading: SSAValue, operations: Sequence[TilingInterface]
) -> list[TilingInterface]:
    """
    Return the operations ordered so that producers needed only by `leading` are last.
    """
    inside = set[Operation](operations)
    chain = producer_slice_of(leading, inside)
    other_values = (
        value for op in operations if op not in chain for value in op.results
    )
    shared = producer_slice_of_all(other_values, inside)
    first = [op for op in operations if op in shared]
    return [*first, *(op for op in operations if op not in shared)]
