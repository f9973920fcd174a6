"""Whether operations can run together without waiting for what waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation


def is_convex(
    operations: Sequence[Operation],
    position: Mapping[Operation, int],
    groups: Mapping[Operation, Sequence[Operation]],
) -> bool:
    """
    Whether no value leaves the operations of one block, given in program order, and
    comes back to them, be it by way of another group. `position` says where the
    operations of the block are, `groups` with which others, in program order, each is.
    """
    inside = set(operations)
    block, first = operations[0].parent, position[operations[0]]
    pending = [op for member in operations for op in _operands(member, block)]
    pending = [op for op in pending if op not in inside]
    seen = set[Operation]()
    while pending:
        op = pending.pop()
        together = groups.get(op, (op,))
        # What comes before all of the group uses nothing of it.
        if op in seen or position[together[-1]] < first:
            continue
        seen.update(together)
        for producer in (p for each in together for p in _operands(each, block)):
            if producer in inside:
                return False
            pending.append(producer)
    return True


def _operands(op: Operation, block: Block | None) -> list[Operation]:
    """The operations of a block that an operation, or what is inside of it, uses."""
    found: list[Operation] = []
    for inner in op.walk():
        for operand in inner.operands:
            owner = operand.owner
            if (
                isinstance(owner, Operation)
                and owner.parent is block
                and owner is not op
            ):
                found.append(owner)
    return found
