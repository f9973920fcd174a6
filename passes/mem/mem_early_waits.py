"""Waits that come earlier, so that buffers are free earlier."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem


def wait_for_room(function: func.FuncOp, level: str) -> bool:
    """
    Wait for moves out of a memory level before more of it is allocated: what they read
    is free from then on. What comes next does not overlap with them any more. Returns
    whether there was such a move.
    """
    found = False
    for wait in [op for op in function.body.walk() if isinstance(op, mem.WaitOp)]:
        left: list[SSAValue] = []
        for token in wait.tokens:
            place = _place(wait, token, level)
            if place is None or place.parent is None:
                left.append(token)
            else:
                place.parent.insert_op_before(mem.WaitOp([token]), place)
        if len(left) < len(wait.tokens):
            found = True
            _shorten(wait, left)
    return found


def _place(wait: mem.WaitOp, token: SSAValue, level: str) -> Operation | None:
    """The first operation after a move, and before its wait, that takes more room."""
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


def _shorten(wait: mem.WaitOp, tokens: list[SSAValue]) -> None:
    """Wait for some of the tokens alone, or not at all."""
    block = wait.parent
    assert block is not None
    if tokens:
        block.insert_op_before(mem.WaitOp(tokens), wait)
    wait.detach()
    wait.erase()
