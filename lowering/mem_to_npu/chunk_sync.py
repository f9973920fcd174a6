"""
Chunk-wise synchronisation of chunked loads and stores with their loop nests in the NPU
code generator.
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
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.instruction_tree import InstructionLeaf, Stream


@dataclass(frozen=True)
class ChunkedLoad:
    """A chunked load in a separate loop, and the loop nest that consumes its chunks."""

    earlier: Operation
    """Last instruction of the load."""
    later: Operation
    """First instruction of a use."""
    consume_rate: ConsumeRate

    @staticmethod
    def of(
        pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
        loop: scf.ForOp,
        nest: Operation,
    ) -> ChunkedLoad | None:
        """
        Return the chunked load if all dependences between `loop` and `nest` are between
        one load and one use of the buffer it fills; otherwise `None`.
        """
        if (pair := _find_move_pair(pairs)) is None:
            return None
        load, user = pair.earlier, pair.later
        if (
            move_chunks := chunks_of_move(loop, load, load.mixed_destination_offsets)
        ) is None:
            return None
        axis, starts = move_chunks
        if (shift := offset_along(load.destination, user.source, axis)) is None:
            return None
        chunks = [start + shift for start in starts]
        if (rate := consume_rate_of(chunks, axis, user, nest)) is None:
            return None
        return ChunkedLoad(pair.last, pair.first, rate)

    def insert_sync(
        self, engine: str, waiting: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """Insert signals of `engine` and wait loops of `waiting`, by semaphore."""
        signal = _insert_signal(self.earlier, engine, semaphore)
        inner = for_op_of(self.consume_rate.loops[-1])
        first = inner.body.block.find_ancestor_op_in_block(self.later)
        assert first is not None
        index = IndexBuilder(Builder(InsertPoint.before(first)))
        waits = _build_wait_loop(index, self._wait_count(index), waiting, semaphore)
        return {self.earlier: signal, self.later: waits}

    def _wait_count(self, index: IndexBuilder) -> Index:
        """Return the number of waits in an iteration: 0 or 1."""
        *outer, inner = map(for_op_of, self.consume_rate.loops)
        iteration = _iteration_index(index, inner)
        remaining: Index = self.consume_rate.chunks
        for loop in outer:
            first = index.max(index.sub(1, _iteration_index(index, loop)), 0)
            remaining = index.mul(first, remaining)
        remaining = index.sub(
            remaining, index.floordiv(iteration, self.consume_rate.period)
        )
        due = index.sub(1, index.mod(iteration, self.consume_rate.period))
        return index.max(index.min(remaining, due), 0)


@dataclass(frozen=True)
class ChunkedStore:
    """A chunked store in a separate loop, and the nest that produces its chunks."""

    earlier: Operation
    """Last instruction that fills the stored buffer."""
    later: Operation
    """First instruction of the store."""
    loop: scf.ForOp
    produce_rate: ProduceRate

    @staticmethod
    def of(
        pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
        nest: scf.ForOp,
        loop: scf.ForOp,
    ) -> ChunkedStore | None:
        """
        Return the chunked store if all dependences between `nest` and `loop` are
        between one move and the store of the buffer it fills; otherwise `None`.
        """
        if (pair := _find_move_pair(pairs)) is None:
            return None
        producer, store = pair.earlier, pair.later
        if (
            move_chunks := chunks_of_move(loop, store, store.mixed_source_offsets)
        ) is None:
            return None
        axis, starts = move_chunks
        if offset_along(producer.destination, store.source, axis) != 0:
            return None
        if (rate := produce_rate_of(starts, axis, producer, nest)) is None:
            return None
        return ChunkedStore(pair.last, pair.first, loop, rate)

    def insert_sync(
        self, engine: str, waiting: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """Insert signals of `engine` and wait loops of `waiting`, by semaphore."""
        body = for_op_of(self.produce_rate.loop).body.block
        last = body.find_ancestor_op_in_block(self.earlier)
        assert last is not None
        signal = _insert_signal(last, engine, semaphore)
        index = IndexBuilder(Builder(InsertPoint.before(self.later)))
        rate, iteration = self.produce_rate, _iteration_index(index, self.loop)
        is_last = index.floordiv(iteration, rate.chunks - 1)
        remainder = rate.trips - rate.chunks * rate.period
        count = index.add(rate.period, index.mul(is_last, remainder))
        waits = _build_wait_loop(index, count, waiting, semaphore)
        return {self.earlier: signal, self.later: waits}


@dataclass(frozen=True)
class ChunkSync:
    """Chunk-wise synchronisation between two streams."""

    stream: Stream
    after: int
    """Index of the earlier item."""
    waiting: Stream
    before: int
    """Index of the later item, which waits."""
    move: ChunkedLoad | ChunkedStore
    is_complete: bool
    """
    `True` if the move is the last instruction of the stream in the earlier item, so
    that the last wait completes the item.
    """

    def insert_sync(self, semaphore: int) -> dict[Operation, Operation]:
        """Insert signals and wait loops; return each by its adjacent operation."""
        return self.move.insert_sync(self.stream.engine, self.waiting.engine, semaphore)


def _insert_signal(op: Operation, engine: str, semaphore: int) -> Operation:
    """Insert a signal directly after an operation."""
    signal, block = npu.SignalOp(engine, semaphore), op.parent
    assert block is not None
    block.insert_op_after(signal, op)
    return signal


def _build_wait_loop(
    index: IndexBuilder, count: Index, engine: str, semaphore: int
) -> Operation:
    """Build a loop of `count` waits."""
    body = Block(arg_types=[IndexType()])
    body.add_ops([npu.WaitOp(engine, semaphore), scf.YieldOp()])
    bounds = [index.to_value(bound) for bound in (0, count, 1)]
    return index.builder.insert(scf.ForOp(bounds[0], bounds[1], bounds[2], [], body))


@dataclass(frozen=True)
class _MovePair:
    """A move that fills a buffer, and a move that reads it."""

    earlier: mem.DmaOp
    later: mem.DmaOp
    last: Operation
    """Last instruction of the earlier move."""
    first: Operation
    """First instruction of the later move."""


def _find_move_pair(
    pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
) -> _MovePair | None:
    """Return the two moves of all pairs, if there are exactly two; otherwise `None`."""
    (earlier, *other_producers), (later, *other_consumers) = (
        {leaf.move for leaf in leaves} for leaves in zip(*pairs, strict=True)
    )
    if other_producers or other_consumers or earlier is None or later is None:
        return None
    last = max((leaf for leaf, _ in pairs), key=_step_of)
    first = min((leaf for _, leaf in pairs), key=_step_of)
    return _MovePair(earlier, later, last.op, first.op)


def _step_of(leaf: InstructionLeaf) -> int:
    return leaf.step


def _iteration_index(index: IndexBuilder, loop: scf.ForOp) -> Index:
    """Build the zero-based iteration index of a loop."""
    step = constant_value_of(loop.step)
    assert step is not None
    distance = index.sub(loop.body.block.args[0], loop.lb)
    return index.floordiv(distance, step)
