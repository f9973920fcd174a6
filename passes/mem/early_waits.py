"""
Hoisting of waits for moves out of a level above allocations, as used by `mem-plan`.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem


def hoist_waits_to_free(function: func.FuncOp, level: str) -> bool:
    """
    Wait for moves out of a memory level before more of it is allocated, so that their
    sources are free. What comes next does not overlap with them any more. Returns
    whether there was such a move.
    """
    found = False
    for wait in [op for op in function.body.walk() if isinstance(op, mem.WaitOp)]:
        left: list[SSAValue] = []
        for token in wait.tokens:
            place = _first_allocation_between(wait, token, level)
            if place is None or place.parent is None:
                left.append(token)
            else:
                place.parent.insert_op_before(mem.WaitOp([token]), place)
        if len(left) < len(wait.tokens):
            found = True
            _restrict_wait(wait, left)
    return found


def _first_allocation_between(
    wait: mem.WaitOp, token: SSAValue, level: str
) -> Operation | None:
    """
    Return the first operation after a move, and before its wait, that allocates in the
    level.
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


def _restrict_wait(wait: mem.WaitOp, tokens: list[SSAValue]) -> None:
    """Restrict a wait to some of its tokens, or erase it."""
    block = wait.parent
    assert block is not None
    if tokens:
        block.insert_op_before(mem.WaitOp(tokens), wait)
    wait.detach()
    wait.erase()
