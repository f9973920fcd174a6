"""
Chunk-wise synchronisation of chunked loads and stores with the loops that use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.chunk_rates import (
    ConsumeRate,
    ProduceRate,
    chunks_of_move,
    consume_rate_of,
    for_op_of,
    produce_rate_of,
)
from tlf.analysis.buffers.view_offsets import offset_along
from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.instruction_tree import InstructionLeaf, Stream
from tlf.lowering.mem_to_npu.integer_ranges import constant_of


@dataclass(frozen=True)
class ChunkedLoad:
    """
    A chunked load by a loop of its own, and the loop nest that consumes its chunks.
    """

    earlier: Operation
    """The last instruction of the load,"""
    later: Operation
    """and the first one of a use."""
    consume_rate: ConsumeRate

    @staticmethod
    def of(
        pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
        loop: scf.ForOp,
        nest: Operation,
    ) -> ChunkedLoad | None:
        """
        Return the load in chunks if all dependences between a loop and a nest are
        between one load and one use of the buffer that it fills; `None` otherwise.
        """
        if (ends := _find_move_pair(pairs)) is None:
            return None
        load, user = ends.earlier, ends.later
        if (
            found := chunks_of_move(loop, load, load.mixed_destination_offsets)
        ) is None:
            return None
        axis, starts = found
        if (shift := offset_along(load.destination, user.source, axis)) is None:
            return None
        chunks = [start + shift for start in starts]
        if (pace := consume_rate_of(chunks, axis, user, nest)) is None:
            return None
        return ChunkedLoad(ends.last, ends.first, pace)

    def insert_sync(
        self, engine: str, waiting: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """Insert signals of an engine and waits of another one."""
        signal = _insert_signal(self.earlier, engine, semaphore)
        first = _ancestor_in_body(self.later, for_op_of(self.consume_rate.loops[-1]))
        index = IndexBuilder(Builder(InsertPoint.before(first)))
        waits = _build_wait_loop(index, self._wait_count(index), waiting, semaphore)
        return {self.earlier: signal, self.later: waits}

    def _wait_count(self, index: IndexBuilder) -> Index:
        """Return the number of waits in an iteration: 0 or 1."""
        *outer, inner = map(for_op_of, self.consume_rate.loops)
        number = _iteration_index(index, inner)
        left: Index = self.consume_rate.chunks
        for loop in outer:
            first = index.max(index.sub(1, _iteration_index(index, loop)), 0)
            left = index.mul(first, left)
        left = index.sub(left, index.floordiv(number, self.consume_rate.period))
        due = index.sub(1, index.mod(number, self.consume_rate.period))
        return index.max(index.min(left, due), 0)


@dataclass(frozen=True)
class ChunkedStore:
    """
    A chunked store by a loop of its own, and the loop nest that produces its chunks.
    """

    earlier: Operation
    """The last instruction that moves there what is stored,"""
    later: Operation
    """and the first one of the store."""
    loop: scf.ForOp
    produce_rate: ProduceRate

    @staticmethod
    def of(
        pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
        nest: scf.ForOp,
        loop: scf.ForOp,
    ) -> ChunkedStore | None:
        """
        Return the store in chunks if all dependences between a loop and one over chunks
        are between one move and the store of the buffer that it fills; `None`
        otherwise.
        """
        if (ends := _find_move_pair(pairs)) is None:
            return None
        maker, store = ends.earlier, ends.later
        if (found := chunks_of_move(loop, store, store.mixed_source_offsets)) is None:
            return None
        axis, starts = found
        if offset_along(maker.destination, store.source, axis) != 0:
            return None
        if (delay := produce_rate_of(starts, axis, maker, nest)) is None:
            return None
        return ChunkedStore(ends.last, ends.first, loop, delay)

    def insert_sync(
        self, engine: str, waiting: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """Insert signals of an engine and waits of another one."""
        signal = _insert_signal(
            _ancestor_in_body(self.earlier, for_op_of(self.produce_rate.loop)),
            engine,
            semaphore,
        )
        index = IndexBuilder(Builder(InsertPoint.before(self.later)))
        pace, number = self.produce_rate, _iteration_index(index, self.loop)
        is_last = index.floordiv(number, pace.chunks - 1)
        more = pace.trips - pace.chunks * pace.period
        count = index.add(pace.period, index.mul(is_last, more))
        waits = _build_wait_loop(index, count, waiting, semaphore)
        return {self.earlier: signal, self.later: waits}


@dataclass(frozen=True)
class ChunkSync:
    """Chunk-wise synchronisation between two streams."""

    stream: Stream
    after: int
    """The item with the loop over chunks."""
    waiting: Stream
    before: int
    """The item with the loops that use them."""
    move: ChunkedLoad | ChunkedStore
    is_complete: bool
    """
    True if the move is the last instruction of the stream in the item, which is then
    complete.
    """

    def insert_sync(self, semaphore: int) -> dict[Operation, Operation]:
        """Insert signals and loops of waits, and return each with what it is beside."""
        return self.move.insert_sync(self.stream.engine, self.waiting.engine, semaphore)


def _ancestor_in_body(op: Operation, loop: scf.ForOp) -> Operation:
    """The operation of a loop's body that is an operation or holds it."""
    while op.parent_op() is not loop:
        around = op.parent_op()
        assert around is not None
        op = around
    return op


def _insert_signal(op: Operation, engine: str, semaphore: int) -> Operation:
    """A signal behind an operation."""
    signal, block = npu.SignalOp(engine, semaphore), op.parent
    assert block is not None
    block.insert_op_after(signal, op)
    return signal


def _build_wait_loop(
    index: IndexBuilder, count: Index, engine: str, semaphore: int
) -> Operation:
    """A loop of so many waits."""
    body = Block(arg_types=[IndexType()])
    body.add_ops([npu.WaitOp(engine, semaphore), scf.YieldOp()])
    bounds = [index.to_value(bound) for bound in (0, count, 1)]
    return index.builder.insert(scf.ForOp(bounds[0], bounds[1], bounds[2], [], body))


@dataclass(frozen=True)
class _MovePair:
    """A move that fills a buffer, and one that takes what is there."""

    earlier: mem.DmaOp
    later: mem.DmaOp
    last: Operation
    """The last instruction of the one,"""
    first: Operation
    """and the first one of the other."""


def _find_move_pair(
    pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
) -> _MovePair | None:
    """Return the two moves that all pairs are of, if there are only two."""
    (earlier, *more), (later, *others) = (
        {leaf.move for leaf in leaves} for leaves in zip(*pairs, strict=True)
    )
    if more or others or earlier is None or later is None:
        return None
    last = max((leaf for leaf, _ in pairs), key=_step_of)
    first = min((leaf for _, leaf in pairs), key=_step_of)
    return _MovePair(earlier, later, last.op, first.op)


def _step_of(leaf: InstructionLeaf) -> int:
    return leaf.step


def _iteration_index(index: IndexBuilder, loop: scf.ForOp) -> Index:
    """Return the index of an iteration, counted from 0."""
    step = constant_of(loop.step)
    assert step is not None
    counted = index.sub(loop.body.block.args[0], loop.lb)
    return index.floordiv(counted, step)
