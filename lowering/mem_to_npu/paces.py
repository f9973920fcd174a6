"""
Waits for chunks: what a loop loads in chunks is waited for chunk by chunk in the first
iterations of another one, instead of all of it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.paces import (
    Delay,
    Pace,
    chunks_of,
    delay_of,
    loop_of,
    pace_of,
)
from tlf.analysis.buffers.shifts import shift_along
from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.dependences import Leaf, Stream
from tlf.lowering.mem_to_npu.index import IndexBuilder
from tlf.lowering.mem_to_npu.ranges import constant_of


@dataclass(frozen=True)
class LoadInChunks:
    """A load in chunks, by a loop of its own, and what uses them in other loops."""

    earlier: Operation
    """The last instruction of the load,"""
    later: Operation
    """and the first one of a use."""
    pace: Pace

    @staticmethod
    def of(
        pairs: Sequence[tuple[Leaf, Leaf]], loop: scf.ForOp, nest: Operation
    ) -> LoadInChunks | None:
        """
        Return the load in chunks if all dependences between a loop and a nest are
        between one load and one use of the buffer that it fills; `None` otherwise.
        """
        if (ends := _ends(pairs)) is None:
            return None
        load, user = ends.earlier, ends.later
        if (found := chunks_of(loop, load, load.mixed_destination_offsets)) is None:
            return None
        axis, starts = found
        if (shift := shift_along(load.destination, user.source, axis)) is None:
            return None
        chunks = [start + shift for start in starts]
        if (pace := pace_of(chunks, axis, user, nest)) is None:
            return None
        return LoadInChunks(ends.last, ends.first, pace)

    def place(
        self, engine: str, waiting: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """Insert signals of an engine and waits of another one."""
        signal = _signal(self.earlier, engine, semaphore)
        first = _in_body(self.later, loop_of(self.pace.loops[-1]))
        index = IndexBuilder(Builder(InsertPoint.before(first)))
        waits = _waits(index, self._count(index), waiting, semaphore)
        return {self.earlier: signal, self.later: waits}

    def _count(self, index: IndexBuilder) -> Index:
        """Return the number of waits in an iteration: 0 or 1."""
        *outer, inner = map(loop_of, self.pace.loops)
        number = _number(index, inner)
        left: Index = self.pace.chunks
        for loop in outer:
            first = index.max(index.sub(1, _number(index, loop)), 0)
            left = index.mul(first, left)
        left = index.sub(left, index.floordiv(number, self.pace.period))
        due = index.sub(1, index.mod(number, self.pace.period))
        return index.max(index.min(left, due), 0)


@dataclass(frozen=True)
class StoreInChunks:
    """A store in chunks, by a loop of its own, of what a loop before it makes."""

    earlier: Operation
    """The last instruction that moves there what is stored,"""
    later: Operation
    """and the first one of the store."""
    loop: scf.ForOp
    pace: Delay

    @staticmethod
    def of(
        pairs: Sequence[tuple[Leaf, Leaf]], nest: scf.ForOp, loop: scf.ForOp
    ) -> StoreInChunks | None:
        """
        Return the store in chunks if all dependences between a loop and one over chunks
        are between one move and the store of the buffer that it fills; `None`
        otherwise.
        """
        if (ends := _ends(pairs)) is None:
            return None
        maker, store = ends.earlier, ends.later
        if (found := chunks_of(loop, store, store.mixed_source_offsets)) is None:
            return None
        axis, starts = found
        if shift_along(maker.destination, store.source, axis) != 0:
            return None
        if (delay := delay_of(starts, axis, maker, nest)) is None:
            return None
        return StoreInChunks(ends.last, ends.first, loop, delay)

    def place(
        self, engine: str, waiting: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """Insert signals of an engine and waits of another one."""
        signal = _signal(
            _in_body(self.earlier, loop_of(self.pace.loop)), engine, semaphore
        )
        index = IndexBuilder(Builder(InsertPoint.before(self.later)))
        pace, number = self.pace, _number(index, self.loop)
        is_last = index.floordiv(number, pace.chunks - 1)
        more = pace.trips - pace.chunks * pace.period
        count = index.add(pace.period, index.mul(is_last, more))
        waits = _waits(index, count, waiting, semaphore)
        return {self.earlier: signal, self.later: waits}


@dataclass(frozen=True)
class Chunked:
    """Synchronisation of a stream with another one chunk by chunk."""

    stream: Stream
    after: int
    """The item with the loop over chunks."""
    waiting: Stream
    before: int
    """The item with the loops that use them."""
    move: LoadInChunks | StoreInChunks
    whole: bool
    """
    True if the move is the last instruction of the stream in the item, which is then
    complete.
    """

    def place(self, semaphore: int) -> dict[Operation, Operation]:
        """Insert signals and loops of waits, and return each with what it is beside."""
        return self.move.place(self.stream.engine, self.waiting.engine, semaphore)


def _in_body(op: Operation, loop: scf.ForOp) -> Operation:
    """The operation of a loop's body that is an operation or holds it."""
    while op.parent_op() is not loop:
        around = op.parent_op()
        assert around is not None
        op = around
    return op


def _signal(op: Operation, engine: str, semaphore: int) -> Operation:
    """A signal behind an operation."""
    signal, block = npu.SignalOp(engine, semaphore), op.parent
    assert block is not None
    block.insert_op_after(signal, op)
    return signal


def _waits(index: IndexBuilder, count: Index, engine: str, semaphore: int) -> Operation:
    """A loop of so many waits."""
    body = Block(arg_types=[IndexType()])
    body.add_ops([npu.WaitOp(engine, semaphore), scf.YieldOp()])
    bounds = [index.value(bound) for bound in (0, count, 1)]
    return index.builder.insert(scf.ForOp(bounds[0], bounds[1], bounds[2], [], body))


@dataclass(frozen=True)
class _Ends:
    """A move that fills a buffer, and one that takes what is there."""

    earlier: mem.DmaOp
    later: mem.DmaOp
    last: Operation
    """The last instruction of the one,"""
    first: Operation
    """and the first one of the other."""


def _ends(pairs: Sequence[tuple[Leaf, Leaf]]) -> _Ends | None:
    """The two moves that all pairs are of, if those are two."""
    (earlier, *more), (later, *others) = (
        {leaf.move for leaf in leaves} for leaves in zip(*pairs, strict=True)
    )
    if more or others or earlier is None or later is None:
        return None
    last = max((leaf for leaf, _ in pairs), key=_step)
    first = min((leaf for _, leaf in pairs), key=_step)
    return _Ends(earlier, later, last.op, first.op)


def _step(leaf: Leaf) -> int:
    return leaf.step


def _number(index: IndexBuilder, loop: scf.ForOp) -> Index:
    """The number of an iteration."""
    step = constant_of(loop.step)
    assert step is not None
    counted = index.sub(loop.body.block.args[0], loop.lb)
    return index.floordiv(counted, step)
