"""Backward slices: the operations that compute a value."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue


def computing_operations(value: SSAValue, inside: set[Operation]) -> set[Operation]:
    """The operations among some, such as those of a group, that compute a value."""
    return all_computing([value], inside)


def all_computing(values: Iterable[SSAValue], inside: set[Operation]) -> set[Operation]:
    """The operations among some that compute any of a few values."""
    found, pending = set[Operation](), list(values)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner in inside and owner not in found:
            found.add(owner)
            pending.extend(owner.operands)
    return found
