"""
Rewrite of the pass `mem-pipeline`: prefetching of loads of a loop by a distance of
several iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.backward_slices import backward_slice_in_block
from tlf.analysis.buffers.disjoint_accesses import is_box_private_to_iteration
from tlf.analysis.buffers.memory_effects import (
    VIEW_OPS,
    can_buffers_alias,
    has_access_to_buffer,
    ring_window_of,
    root_buffer_of,
    written_buffers_of,
)
from tlf.analysis.buffers.normalized_loops import is_index_arithmetic
from tlf.dialects import mem
from tlf.dialects.graph.remark_attribute import add_remark
from tlf.passes.mem.pipelining.ring_prefetch import (
    filled_ring_of,
    is_ring_window_free_early,
)

PASS_NAME = "mem-pipeline"


@dataclass(frozen=True)
class LoopLoads:
    """
    The moves of a loop's body from outer levels into buffers of the body or ring
    windows.
    """

    loop: scf.ForOp
    moves: Sequence[mem.Move]
    writes: Sequence[tuple[Operation, SSAValue]]
    """Operations of the loop with the buffers or views that they write."""

    @staticmethod
    def find_in_loop(loop: scf.ForOp, levels: Sequence[str]) -> LoopLoads:
        """Find the loads of a loop; `levels` are the memory levels, innermost first."""

        def is_load(op: mem.Move) -> bool:
            source_level, destination_level = (
                mem.level_of(end.type) for end in (op.source, op.destination)
            )
            return levels.index(source_level) > levels.index(destination_level)

        body = loop.body.block
        moves = [
            op
            for op in body.ops
            if isinstance(op, mem.Move)
            and is_load(op)
            and (
                is_fill_of_body_buffer(body, op) or filled_ring_of(op, loop) is not None
            )
        ]
        writes = [
            (op, buffer) for op in loop.walk() for buffer in written_buffers_of(op)
        ]
        return LoopLoads(loop, moves, writes)

    def select_prefetchable_loads(
        self, multibuffered: Sequence[mem.AllocOp], distance: int
    ) -> list[mem.Move]:
        """
        Return the moves into allocations of `multibuffered` or rings that may start
        `distance` iterations early. Emit remarks on the other moves into these.
        """
        prefetchable: list[mem.Move] = []
        for move in self.moves:
            ring = filled_ring_of(move, self.loop)
            if (
                ring is None
                and root_buffer_of(move.destination).owner not in multibuffered
            ):
                continue
            if (
                reason := self._reason_not_prefetchable(move, prefetchable, distance)
            ) is None:
                prefetchable.append(move)
                continue
            buffer = root_buffer_of(move.destination).owner
            assert isinstance(buffer, Operation)
            add_remark(buffer, PASS_NAME, "missed", f"not prefetched: {reason}")
        return prefetchable

    def _reason_not_prefetchable(
        self, move: mem.Move, prefetched: Sequence[mem.Move], distance: int
    ) -> str | None:
        """
        Return the reason why a move cannot be prefetched, or None; `prefetched` are the
        earlier moves that are prefetched.
        """
        written = [
            each
            for each in self.writes
            if not _is_prefetched_index_load(move, each[0], prefetched)
        ]
        if any(self._can_write_overwrite_source(move, *each) for each in written):
            return "the loop writes what it is loaded from"
        if any(
            not is_index_arithmetic(op) and not isinstance(op, VIEW_OPS)
            for op in backward_slice_in_block(move)
        ):
            return "its source offsets depend on more than induction variables"
        if filled_ring_of(move, self.loop) is not None:
            is_ready = is_ring_window_free_early(move, self.loop, distance)
            return None if is_ready else "its window of the ring is in use"
        buffer = root_buffer_of(move.destination)
        earlier: Operation | None = self.loop.body.block.first_op
        while earlier is not None and earlier is not move:
            if earlier not in prefetched and has_access_to_buffer(earlier, buffer):
                return "its buffer is accessed before it"
            earlier = earlier.next_op
        return None

    def _can_write_overwrite_source(
        self, move: mem.Move, op: Operation, buffer: SSAValue
    ) -> bool:
        """
        Return `True` if the write of an operation to a buffer in other iterations may
        overwrite the source of a move.
        """
        if isinstance(move, mem.DmaGatherOp):
            return any(
                can_buffers_alias(e, buffer) for e in (move.source, move.indices)
            )
        if not can_buffers_alias(move.source, buffer):
            return False
        if not isinstance(op, mem.DmaOp) or not isinstance(move, mem.DmaOp):
            return True
        return not is_box_private_to_iteration(self.loop, move, op)


def _is_prefetched_index_load(
    move: mem.Move, op: Operation, prefetched: Sequence[mem.Move]
) -> bool:
    """
    Return `True` if an operation loads the indices of a move with the same prefetch
    distance and in the same queue.
    """
    if not isinstance(move, mem.DmaGatherOp) or op not in prefetched:
        return False
    assert isinstance(op, mem.Move)
    loads_indices = root_buffer_of(op.destination) is root_buffer_of(move.indices)
    return loads_indices and _levels_of_move(op) == _levels_of_move(move)


def is_fill_of_body_buffer(body: Block, move: mem.Move) -> bool:
    """Return `True` if a move fills a buffer that the body allocates."""
    owner = root_buffer_of(move.destination).owner
    return isinstance(owner, mem.AllocOp) and owner.parent is body


def prefetch_moves(moves: Sequence[mem.Move], distance: int) -> None:
    """
    Prefetch moves of a body by `distance` iterations, from the start of the body, or
    right after a loop whose own moves they would block.
    """
    if not moves:
        return
    block = moves[0].parent
    assert isinstance(block, Block)
    blocking_loops = {
        move: loop for move in moves if (loop := _last_loop_in_same_queue(move, moves))
    }
    hoisted = set[Operation](move for move in moves if move not in blocking_loops)
    for move in moves:
        move.ahead = IntegerAttr(distance, i64)
        hoisted.update(backward_slice_in_block(move))
        hoisted.update(_waits_for_index_loads(move, moves))
    move_operations_to_block_start(block, hoisted)
    for move, loop in reversed(blocking_loops.items()):
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


def _waits_for_index_loads(
    move: mem.Move, moves: Sequence[mem.Move]
) -> Iterator[Operation]:
    """Yield the waits before a move for the loads of its indices, isolated by token."""
    for each in moves:
        if not _is_prefetched_index_load(move, each, moves):
            continue
        for wait in [use.operation for use in each.token.uses]:
            if wait.is_before_in_block(move):
                yield _isolate_token_of_wait(wait, each.token)


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


def _last_loop_in_same_queue(
    move: mem.Move, moves: Sequence[mem.Move]
) -> Operation | None:
    """
    Return the last loop with moves in the same queue before the destination of a move
    is used, or before a joint wait; None if there is none.

    A prefetched move waits in its queue for the slot of an earlier iteration: if it
    started before the loop, it would delay the moves of the loop. Moves into a ring
    never wait for a slot.
    """
    block = move.parent
    assert block is not None
    if ring_window_of(move.destination) is not None:
        return None
    waits = [use.operation for use in move.token.uses]
    if any(each.parent is not block for each in waits):
        return None
    buffer, blocking = root_buffer_of(move.destination), None
    for op in block.ops:
        if op not in moves and (
            has_access_to_buffer(op, buffer) or _is_wait_for_several_tokens(op, waits)
        ):
            break
        if isinstance(op, scf.ForOp | scf.ParallelOp) and _has_moves_in_same_queue(
            op, move
        ):
            blocking = op
    return blocking


def _is_wait_for_several_tokens(op: Operation, waits: Sequence[Operation]) -> bool:
    """
    Return `True` if an operation is one of `waits` and waits for several tokens.
    """
    return op in waits and len(op.operands) > 1


def _has_moves_in_same_queue(loop: Operation, move: mem.Move) -> bool:
    """Return `True` if a loop has moves between the same levels as `move`."""
    return any(
        isinstance(op, mem.Move) and _levels_of_move(op) == _levels_of_move(move)
        for op in loop.walk()
    )


def _levels_of_move(move: mem.Move) -> tuple[str, str]:
    source, destination = move.source.type, move.destination.type
    return mem.level_of(source), mem.level_of(destination)
