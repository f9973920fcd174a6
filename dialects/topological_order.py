"""
IR utility of the dialects: sort the operations of a block topologically, definitions
before uses.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation


def move_before_terminator(operations: Sequence[Operation]) -> None:
    """Move operations of a block in front of its terminator, in the given order."""
    block = operations[0].parent
    assert block is not None
    assert block.last_op is not None
    for op in operations:
        op.detach()
        block.insert_op_before(op, block.last_op)


def sort_topologically(block: Block) -> None:
    """
    Move operations behind the producers of their operands; keep the order otherwise.
    """
    placed = set[Operation]()
    order: list[Operation] = []
    for op in tuple(block.ops):
        _append_after_operands(op, block, placed, order)
    for op in order:
        op.detach()
    for op in order:
        block.add_op(op)


def _append_after_operands(
    op: Operation, block: Block, appended: set[Operation], order: list[Operation]
) -> None:
    """
    Append `op` to `order`, after the producers in `block` of its operands and of nested
    operations, by iterative depth-first search; skip those in `appended`.
    """
    pending = [op]
    while pending:
        current = pending[-1]
        if current in appended:
            pending.pop()
            continue
        missing = [
            owner
            for inner in current.walk()
            for operand in inner.operands
            if isinstance(owner := operand.owner, Operation)
            and owner.parent is block
            and owner is not current
            and owner not in appended
        ]
        if missing:
            pending.extend(missing)
            continue
        appended.add(current)
        order.append(current)
        pending.pop()
