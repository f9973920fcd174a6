"""What a value is computed by."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue


def computing_operations(value: SSAValue, inside: set[Operation]) -> set[Operation]:
    """The operations among some, such as those of a group, that compute a value."""
    found, pending = set[Operation](), [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner in inside and owner not in found:
            found.add(owner)
            pending.extend(owner.operands)
    return found
