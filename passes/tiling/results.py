"""What a group hands on, and for which of it loops are built."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial

from xdsl.ir import Operation, SSAValue

from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.analysis.computing import computing_operations


def results_of(operations: Sequence[Operation]) -> list[SSAValue]:
    """
    The values of some operations that others use: first the one that loops are built
    for, then that of the last operation first.
    """
    inside = set(operations)
    found = [
        result
        for op in reversed(operations)
        for result in op.results
        if any(use.operation not in inside for use in result.uses)
    ]
    return sorted(found, key=partial(operator.is_not, _leading(found, inside)))


def _leading(results: Sequence[SSAValue], inside: set[Operation]) -> object:
    """
    The result that loops are built for: the last one, or one of more elements that has
    been accumulated likewise and that the last one does not need.
    """
    if len(results) < 2:
        return None
    last, *others = results
    needed = computing_operations(last, inside)
    found = last
    for each in others:
        if each.owner in needed or _size(each) <= _size(found):
            continue
        if any(
            isinstance(e, AccumulatingInterface)
            for e in computing_operations(each, inside)
        ):
            found = each
    return found


def _size(value: SSAValue) -> int:
    return tensor_type(value).element_count()
