"""
Rewrite of the pass `mem-plan`: hoisting of waits for moves out of a level above
allocations.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem


def hoist_waits_to_free_sources(function: func.FuncOp, level: str) -> bool:
    """
    Hoist waits for moves out of a memory level above later allocations in the level, so
    that the sources of the moves can be freed. The operations in between no longer
    overlap with the moves. Return `True` if any wait was hoisted.
    """
    has_changed = False
    for wait in [op for op in function.body.walk() if isinstance(op, mem.WaitOp)]:
        remaining: list[SSAValue] = []
        for token in wait.tokens:
            allocation = _first_allocation_between(wait, token, level)
            if allocation is None or allocation.parent is None:
                remaining.append(token)
            else:
                allocation.parent.insert_op_before(mem.WaitOp([token]), allocation)
        if len(remaining) < len(wait.tokens):
            has_changed = True
            _restrict_wait_to_tokens(wait, remaining)
    return has_changed


def _first_allocation_between(
    wait: mem.WaitOp, token: SSAValue, level: str
) -> Operation | None:
    """
    Return the first operation between a move out of `level` and its wait that allocates
    in the level, or None.
    """
    move = token.owner
    if not isinstance(move, mem.DmaOp) or move.parent is not wait.parent:
        return None
    if mem.level_of(move.source.type) != level:
        return None
    op = move.next_op
    while op is not None and op is not wait:
        if any(isinstance(o, mem.AllocOp) and o.level == level for o in op.walk()):
            return op
        op = op.next_op
    return None


def _restrict_wait_to_tokens(
    wait: mem.WaitOp, remaining_tokens: list[SSAValue]
) -> None:
    """Restrict a wait to some of its tokens; erase it if there are none."""
    block = wait.parent
    assert block is not None
    if remaining_tokens:
        block.insert_op_before(mem.WaitOp(remaining_tokens), wait)
    wait.detach()
    wait.erase()
