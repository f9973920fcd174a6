"""Analysis of waits: the moves that they wait for, and the buffers of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tlf.analysis.buffers.memory_effects import (
    VIEW_OPS,
    buffers_among,
    root_buffer_of,
)
from tlf.dialects import mem


def buffers_accessed_until_end_of(op: Operation) -> Iterator[SSAValue]:
    """
    Yield the root buffers of the operands of an operation, and of the moves that it
    waits for; none for views.
    """
    if type(op) in VIEW_OPS:
        return
    for accessor in (op, *moves_awaited_by(op)):
        yield from map(root_buffer_of, buffers_among(accessor.operands))


def moves_awaited_by(op: Operation) -> Iterator[mem.Move]:
    """
    Yield the moves whose tokens a wait takes, directly or carried by loops; none for
    other operations.
    """
    pending = list(op.operands) if isinstance(op, mem.WaitOp) else []
    visited = set(pending)
    while pending:
        token = pending.pop()
        if isinstance(token.owner, mem.Move):
            yield token.owner
            continue
        carried = [each for each in _loop_carried_tokens(token) if each not in visited]
        visited.update(carried)
        pending += carried


def _loop_carried_tokens(token: SSAValue) -> Sequence[SSAValue]:
    """Return the initial and the yielded value of a loop-carried token."""
    loop, index = token.owner, 0
    if isinstance(token, BlockArgument):
        loop, index = token.owner.parent_op(), token.index - 1
    elif isinstance(token, OpResult):
        index = token.index
    assert isinstance(loop, scf.ForOp), (
        "expected the token of a move or a loop-carried token"
    )
    end = loop.body.block.last_op
    assert end is not None
    return loop.iter_args[index], end.operands[index]
