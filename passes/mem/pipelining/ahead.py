"""Moves of a loop that may start iterations ahead of their own: prefetching."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.counters import is_pure
from tlf.analysis.buffers.touches import (
    BUFFERS,
    VIEWS,
    may_meet,
    root_of,
    touches,
    window_of,
    written,
)
from tlf.analysis.buffers.turns import take_turns
from tlf.dialects import mem
from tlf.dialects.graph.remark import remark
from tlf.passes.mem.pipelining.rings import is_free, ring_of

SOURCE = "mem-pipeline"


@dataclass(frozen=True)
class Loads:
    """
    The moves in the body of a loop from farther levels to buffers of the body, or to
    windows of rings.
    """

    loop: scf.ForOp
    moves: Sequence[mem.Move]
    written: Sequence[tuple[Operation, SSAValue]]
    """Writes of operations in the loop: buffers and views."""

    @staticmethod
    def of(loop: scf.ForOp, levels: Sequence[str]) -> Loads:
        """Find the moves; `levels` are the memory levels, the nearest first."""

        def is_load(op: mem.Move) -> bool:
            far, near = (mem.level_of(end.type) for end in (op.source, op.destination))
            return levels.index(far) > levels.index(near)

        body = loop.body.block
        moves = [
            op
            for op in body.ops
            if isinstance(op, mem.Move)
            and is_load(op)
            and (is_filled_in(body, op) or ring_of(op, loop) is not None)
        ]
        writes = [(op, buffer) for op in loop.walk() for buffer in written(op)]
        return Loads(loop, moves, writes)

    def movable(
        self, slotted: Sequence[mem.AllocOp], iterations: int
    ) -> list[mem.Move]:
        """
        Those that may start so many iterations ahead, with remarks on the others, of
        the ones that fill buffers with slots or rings.
        """
        found: list[mem.Move] = []
        for move in self.moves:
            ring = ring_of(move, self.loop)
            if ring is None and root_of(move.destination).owner not in slotted:
                continue
            if (reason := self._reason(move, found, iterations)) is None:
                found.append(move)
                continue
            buffer = root_of(move.destination).owner
            assert isinstance(buffer, Operation)
            remark(buffer, SOURCE, "missed", f"not loaded ahead: {reason}")
        return found

    def _reason(
        self, move: mem.Move, ahead: Sequence[mem.Move], iterations: int
    ) -> str | None:
        """
        Return why a move has to stay in its iteration, or None; `ahead` are the earlier
        moves that start ahead.
        """
        written = [each for each in self.written if not _names(move, each[0], ahead)]
        if any(self._is_overwritten(move, *each) for each in written):
            return "the loop writes what it is loaded from"
        if any(
            not is_pure(op) and not isinstance(op, VIEWS) for op in operands_of(move)
        ):
            return "where it is loaded from depends on more than counters"
        if ring_of(move, self.loop) is not None:
            is_ready = is_free(move, self.loop, iterations)
            return None if is_ready else "its place in the ring is in use"
        buffer = root_of(move.destination)
        earlier: Operation | None = self.loop.body.block.first_op
        while earlier is not None and earlier is not move:
            if earlier not in ahead and touches(earlier, buffer):
                return "its tile is used before"
            earlier = earlier.next_op
        return None

    def _is_overwritten(self, move: mem.Move, op: Operation, buffer: SSAValue) -> bool:
        """
        Return `True` if an operation's writes to a buffer in other iterations may
        overwrite the source of a move.
        """
        if isinstance(move, mem.DmaGatherOp):
            return any(may_meet(e, buffer) for e in (move.source, move.indices))
        if not may_meet(move.source, buffer):
            return False
        if not isinstance(op, mem.DmaOp) or not isinstance(move, mem.DmaOp):
            return True
        return not take_turns(self.loop, move, op)


def _names(move: mem.Move, op: Operation, ahead: Sequence[mem.Move]) -> bool:
    """
    Return `True` if an operation loads the indices of a move, starts as far ahead and
    is in the same queue.
    """
    if not isinstance(move, mem.DmaGatherOp) or op not in ahead:
        return False
    assert isinstance(op, mem.Move)
    is_named = root_of(op.destination) is root_of(move.indices)
    return is_named and _levels(op) == _levels(move)


def is_filled_in(body: Block, move: mem.Move) -> bool:
    """Return `True` if a move fills a buffer that the body allocates."""
    owner = root_of(move.destination).owner
    return isinstance(owner, mem.AllocOp) and owner.parent is body


def operands_of(op: Operation) -> list[Operation]:
    """
    The operations of the same block that compute what an operation uses, in order,
    without those that its buffers come from.
    """
    found: set[Operation] = set()
    pending = [op]
    while pending:
        for value in pending.pop().operands:
            owner = value.owner
            if not isinstance(owner, Operation) or isinstance(owner, BUFFERS):
                continue
            if owner.parent is op.parent and owner not in found:
                found.add(owner)
                pending.append(owner)
    ordered: list[Operation] = []
    before = op.prev_op
    while before is not None and len(ordered) < len(found):
        if before in found:
            ordered.append(before)
        before = before.prev_op
    return ordered[::-1]


def start_ahead(moves: Sequence[mem.Move], iterations: int) -> None:
    """
    Let moves of a body start so many iterations ahead: from the body's start, or right
    after a loop whose own moves they would hold up.
    """
    if not moves:
        return
    block = moves[0].parent
    assert isinstance(block, Block)
    behind = {move: loop for move in moves if (loop := _held_up(move, moves))}
    first = set[Operation](move for move in moves if move not in behind)
    for move in moves:
        move.ahead = IntegerAttr(iterations, i64)
        first.update(operands_of(move))
        first.update(_waits_for_indices(move, moves))
    put_first(block, first)
    for move, loop in reversed(behind.items()):
        _put_behind(loop, move)


def put_first(block: Block, chosen: Collection[Operation]) -> None:
    """Put some operations of a block at its start, in their order."""
    ordered = [op for op in block.ops if op in chosen]
    for op in ordered:
        op.detach()
    start = block.first_op
    assert start is not None
    block.insert_ops_before(ordered, start)


def _waits_for_indices(
    move: mem.Move, moves: Sequence[mem.Move]
) -> Iterator[Operation]:
    """The waits for what brings the indices of a move alone, which come before it."""
    for each in moves:
        if not _names(move, each, moves):
            continue
        for wait in [use.operation for use in each.token.uses]:
            if wait.is_before_in_block(move):
                yield _wait_alone(wait, each.token)


def _wait_alone(wait: Operation, token: SSAValue) -> Operation:
    """Split a wait so that one is for a token alone, and return that."""
    others = [each for each in wait.operands if each is not token]
    block = wait.parent
    if not others or block is None:
        return wait
    alone = mem.WaitOp([token])
    block.insert_ops_before([alone, mem.WaitOp(others)], wait)
    wait.detach()
    wait.erase()
    return alone


def _put_behind(loop: Operation, move: mem.Move) -> None:
    """Put a move right behind a loop, and the waits for it that stand before."""
    block = move.parent
    assert block is not None
    waits = [use.operation for use in move.token.uses]
    early = [each for each in waits if each.is_before_in_block(loop)]
    for op in (*reversed(early), move):
        op.detach()
        block.insert_op_after(op, loop)


def _held_up(move: mem.Move, moves: Sequence[mem.Move]) -> Operation | None:
    """
    The last loop before the tile of a move is used, or waited for together with others,
    whose moves share its queue.

    The move waits for the slot that the tile of an earlier iteration had, in the queue
    of its engine: before the loop, moves of the loop would wait behind it. A place in a
    ring is free when its move starts.
    """
    block = move.parent
    assert block is not None
    if window_of(move.destination) is not None:
        return None
    waits = [use.operation for use in move.token.uses]
    if any(each.parent is not block for each in waits):
        return None
    buffer, found = root_of(move.destination), None
    for op in block.ops:
        if op not in moves and (touches(op, buffer) or _is_shared(op, waits)):
            break
        if isinstance(op, scf.ForOp | scf.ParallelOp) and _shares_queue(op, move):
            found = op
    return found


def _is_shared(op: Operation, waits: Sequence[Operation]) -> bool:
    """
    Return `True` if an operation is one of some waits, and waits for other moves, too.
    """
    return op in waits and len(op.operands) > 1


def _shares_queue(loop: Operation, move: mem.Move) -> bool:
    """Return `True` if moves in a loop are between the same levels as another one."""
    return any(
        isinstance(op, mem.Move) and _levels(op) == _levels(move) for op in loop.walk()
    )


def _levels(move: mem.Move) -> tuple[str, str]:
    source, destination = move.source.type, move.destination.type
    return mem.level_of(source), mem.level_of(destination)
