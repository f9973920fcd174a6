"""Analysis of producer slices: the operations of a set that compute a value."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue


def producer_slice_of(value: SSAValue, candidates: set[Operation]) -> set[Operation]:
    """
    Return the operations of `candidates`, such as those of a group, that compute a
    value.
    """
    return producer_slice_of_all([value], candidates)


def producer_slice_of_all(
    values: Iterable[SSAValue], candidates: set[Operation]
) -> set[Operation]:
    """Return the operations of `candidates` that compute any of the values."""
    found, pending = set[Operation](), list(values)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner in candidates and owner not in found:
            found.add(owner)
            pending.extend(owner.operands)
    return found
