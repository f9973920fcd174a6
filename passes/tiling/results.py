"""What a group hands on, and for which of it loops are built."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.analysis.computing import computing_operations


def results_of(operations: Sequence[Operation]) -> list[SSAValue]:
    """The values of some operations that others use, that of the last one first."""
    inside = set(operations)
    return [
        result
        for op in reversed(operations)
        for result in op.results
        if any(use.operation not in inside for use in result.uses)
    ]


def ordered(operations: Sequence[TilingInterface]) -> list[TilingInterface]:
    """
    Operations in an order in which what loops are built for comes last: a result with
    more elements than the last one, where neither needs the other. Then the last one
    may follow its tiles.
    """
    inside = set[Operation](operations)
    if (leading := _leading(results_of(operations), inside)) is None:
        return list(operations)
    chain = computing_operations(leading, inside)
    others = [op for op in operations if op not in chain]
    needed = {
        each
        for op in others
        for result in op.results
        for each in computing_operations(result, inside)
    }
    first = [op for op in operations if op in needed]
    return [*first, *(op for op in operations if op not in needed)]


def _leading(results: Sequence[SSAValue], inside: set[Operation]) -> SSAValue | None:
    """The result that loops are built for, where that is not the last one."""
    if len(results) < 2:
        return None
    last, *others = results
    needed, found = computing_operations(last, inside), None
    for each in others:
        if each.owner not in needed and _size(each) > _size(found or last):
            found = each
    return found


def _size(value: SSAValue) -> int:
    return tensor_type(value).element_count()
