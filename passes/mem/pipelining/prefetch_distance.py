"""
Rewrite of the pass `mem-pipeline`: prefetching of loads of a loop by a distance of
several iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.backward_slices import backward_slice_in_block
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.dialects import mem
from tlf.dialects.graph.remark_attribute import add_remark
from tlf.planner.overlap.ahead_selection import (
    LoadSelection,
    find_loop_before_load,
    is_early_index_load,
)
from tlf.planner.overlap.mem_loop_body import MemLoopBody

PASS_NAME = "mem-pipeline"


def add_remarks_on_late_loads(body: MemLoopBody, selection: LoadSelection) -> None:
    """Add a remark on each load that is not prefetched."""
    for position, reason in selection.reasons.items():
        buffer = root_buffer_of(body.move_at(position).destination).owner
        assert isinstance(buffer, Operation)
        add_remark(buffer, PASS_NAME, "missed", f"not prefetched: {reason}")


def prefetch_loads(body: MemLoopBody, early: Sequence[int], distance: int) -> None:
    """
    Prefetch loads of a body by `distance` iterations, from the start of the body, or
    right after a loop whose own moves they would block.
    """
    if not early:
        return
    moves = {position: body.move_at(position) for position in early}
    loops = {
        move: body.ops[loop]
        for position, move in moves.items()
        if (loop := find_loop_before_load(body.operations, position, early)) is not None
    }
    hoisted = set[Operation](move for move in moves.values() if move not in loops)
    for position, move in moves.items():
        move.ahead = IntegerAttr(distance, i64)
        hoisted.update(backward_slice_in_block(move))
        for each, index_load in moves.items():
            if is_early_index_load(body.operations, position, each, early):
                hoisted.update(_isolate_waits_before(move, index_load))
    block = moves[early[0]].parent
    assert isinstance(block, Block)
    move_operations_to_block_start(block, hoisted)
    for move, loop in reversed(loops.items()):
        _move_prefetch_after_loop(loop, move)


def move_operations_to_block_start(
    block: Block, operations: Collection[Operation]
) -> None:
    """Move the given operations to the start of their block, in their current order."""
    ordered = [op for op in block.ops if op in operations]
    for op in ordered:
        op.detach()
    start = block.first_op
    assert start is not None
    block.insert_ops_before(ordered, start)


def _isolate_waits_before(move: mem.Move, awaited: mem.Move) -> Iterator[Operation]:
    """Yield the waits before a move for another move, isolated by token."""
    for wait in [use.operation for use in awaited.token.uses]:
        if wait.is_before_in_block(move):
            yield _isolate_token_of_wait(wait, awaited.token)


def _isolate_token_of_wait(wait: Operation, token: SSAValue) -> Operation:
    """
    Replace a wait by one for `token`, which is returned, and one for its other tokens.
    """
    other_tokens = [each for each in wait.operands if each is not token]
    block = wait.parent
    if not other_tokens or block is None:
        return wait
    isolated = mem.WaitOp([token])
    block.insert_ops_before([isolated, mem.WaitOp(other_tokens)], wait)
    wait.detach()
    wait.erase()
    return isolated


def _move_prefetch_after_loop(loop: Operation, move: mem.Move) -> None:
    """Move a move, and its waits before a loop, to directly after the loop."""
    block = move.parent
    assert block is not None
    waits = [use.operation for use in move.token.uses]
    early = [each for each in waits if each.is_before_in_block(loop)]
    for op in (*reversed(early), move):
        op.detach()
        block.insert_op_after(op, loop)
