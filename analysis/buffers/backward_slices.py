"""Analysis of backward slices: the operations of a block that an operation needs."""

from __future__ import annotations

from xdsl.ir import Operation

from tlf.analysis.buffers.memory_effects import BUFFER_OPS, VIEW_OPS
from tlf.analysis.buffers.normalized_loops import is_index_arithmetic


def backward_slice_in_block(op: Operation) -> list[Operation]:
    """
    Return the backward slice of an operation in its block, in program order, without
    the definitions of buffers.
    """
    members: set[Operation] = set()
    pending = [op]
    while pending:
        for value in pending.pop().operands:
            owner = value.owner
            if not isinstance(owner, Operation) or isinstance(owner, BUFFER_OPS):
                continue
            if owner.parent is op.parent and owner not in members:
                members.add(owner)
                pending.append(owner)
    ordered: list[Operation] = []
    before = op.prev_op
    while before is not None and len(ordered) < len(members):
        if before in members:
            ordered.append(before)
        before = before.prev_op
    return ordered[::-1]


def needs_only_index_arithmetic(op: Operation) -> bool:
    """
    Return `True` if an operation needs only index arithmetic and views of its block.
    """
    return all(
        is_index_arithmetic(each) or isinstance(each, VIEW_OPS)
        for each in backward_slice_in_block(op)
    )
