"""
Insertion of signals and waits by the NPU code generator: chunk-wise synchronisation of
chunked loads and stores with their loop nests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.loop_offsets import advancing_chunks_of_move, for_op_of
from tlf.analysis.buffers.normalized_loops import LoopRange
from tlf.dialects import mem, npu
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.instruction_tree import EngineStream, InstructionLeaf
from tlf.planner.chunking.chunk_rates import (
    ChunkRate,
    consume_rate_of,
    produce_rate_of,
)
from tlf.planner.chunking.mem_block import MemTileAccess


@dataclass(frozen=True)
class ChunkedLoad:
    """A chunked load in a separate loop, and the loop nest that consumes its chunks."""

    last_producer_op: Operation
    """Last instruction of the load."""
    first_consumer_op: Operation
    """First instruction of a use."""
    loops: Sequence[LoopRange]
    """Loops around the use that determine the rate, outermost first."""
    consume_rate: ChunkRate

    @staticmethod
    def find_between_loops(
        dependent_pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
        load_loop: scf.ForOp,
        consumer_nest: Operation,
    ) -> ChunkedLoad | None:
        """
        Return the chunked load if all dependences between `load_loop` and
        `consumer_nest` are between one load and one use of the buffer it fills;
        otherwise `None`.
        """
        if (pair := _find_only_move_pair(dependent_pairs)) is None:
            return None
        load, user = pair.producer_move, pair.consumer_move
        if (
            move_chunks := advancing_chunks_of_move(
                load_loop, load, load.mixed_destination_offsets
            )
        ) is None:
            return None
        axis, starts = move_chunks
        access = MemTileAccess.of_move(
            user, consumer_nest, load.destination, is_read=True
        )
        if (rate := consume_rate_of(access, axis, starts)) is None:
            return None
        loops = access.loops[: rate.depth]
        return ChunkedLoad(pair.last_producer_op, pair.first_consumer_op, loops, rate)

    def insert_signals_and_waits(
        self, signalling_engine: str, waiting_engine: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """
        Insert signals of `signalling_engine` and wait loops of `waiting_engine`, by
        semaphore.
        """
        signal = _insert_signal_after(
            self.last_producer_op, signalling_engine, semaphore
        )
        inner = for_op_of(self.loops[-1])
        first = inner.body.block.find_ancestor_op_in_block(self.first_consumer_op)
        assert first is not None
        index = IndexBuilder(Builder(InsertPoint.before(first)))
        waits = _build_wait_loop(
            index, self._build_wait_count(index), waiting_engine, semaphore
        )
        return {self.last_producer_op: signal, self.first_consumer_op: waits}

    def _build_wait_count(self, index_builder: IndexBuilder) -> Index:
        """
        Build the number of waits, 0 or 1, in the current iteration of the consumer
        loops.
        """
        *outer, inner = map(for_op_of, self.loops)
        iteration = _build_iteration_index(index_builder, inner)
        remaining: Index = self.consume_rate.chunk_count
        for loop in outer:
            first = index_builder.build_max(
                index_builder.build_sub(1, _build_iteration_index(index_builder, loop)),
                0,
            )
            remaining = index_builder.build_mul(first, remaining)
        remaining = index_builder.build_sub(
            remaining, index_builder.build_floordiv(iteration, self.consume_rate.period)
        )
        due = index_builder.build_sub(
            1, index_builder.build_mod(iteration, self.consume_rate.period)
        )
        return index_builder.build_max(index_builder.build_min(remaining, due), 0)


@dataclass(frozen=True)
class ChunkedStore:
    """A chunked store in a separate loop, and the nest that produces its chunks."""

    last_producer_op: Operation
    """Last instruction that fills the stored buffer."""
    first_consumer_op: Operation
    """First instruction of the store."""
    store_loop: scf.ForOp
    producer_loop: LoopRange
    """Loop whose iterations produce the chunks."""
    produce_rate: ChunkRate

    @staticmethod
    def find_between_loops(
        dependent_pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
        producer_nest: scf.ForOp,
        store_loop: scf.ForOp,
    ) -> ChunkedStore | None:
        """
        Return the chunked store if all dependences between `producer_nest` and
        `store_loop` are between one move and the store of the buffer it fills;
        otherwise `None`.
        """
        if (pair := _find_only_move_pair(dependent_pairs)) is None:
            return None
        producer, store = pair.producer_move, pair.consumer_move
        if (
            move_chunks := advancing_chunks_of_move(
                store_loop, store, store.mixed_source_offsets
            )
        ) is None:
            return None
        axis, starts = move_chunks
        access = MemTileAccess.of_move(
            producer, producer_nest, store.source, is_read=False
        )
        if (rate := produce_rate_of(access, axis, starts)) is None:
            return None
        loop = access.loops[rate.depth - 1]
        return ChunkedStore(
            pair.last_producer_op, pair.first_consumer_op, store_loop, loop, rate
        )

    def insert_signals_and_waits(
        self, signalling_engine: str, waiting_engine: str, semaphore: int
    ) -> dict[Operation, Operation]:
        """
        Insert signals of `signalling_engine` and wait loops of `waiting_engine`, by
        semaphore.
        """
        body = for_op_of(self.producer_loop).body.block
        last = body.find_ancestor_op_in_block(self.last_producer_op)
        assert last is not None
        signal = _insert_signal_after(last, signalling_engine, semaphore)
        index = IndexBuilder(Builder(InsertPoint.before(self.first_consumer_op)))
        rate, trips = self.produce_rate, self.producer_loop.trips
        assert trips is not None
        iteration = _build_iteration_index(index, self.store_loop)
        is_last = index.build_floordiv(iteration, rate.chunk_count - 1)
        remainder = trips - rate.chunk_count * rate.period
        count = index.build_add(rate.period, index.build_mul(is_last, remainder))
        waits = _build_wait_loop(index, count, waiting_engine, semaphore)
        return {self.last_producer_op: signal, self.first_consumer_op: waits}


@dataclass(frozen=True)
class ChunkSync:
    """
    Plan of chunk-wise signals from the stream of an earlier item to a later item's.
    """

    signalling_stream: EngineStream
    producer_index: int
    """Index of the earlier item."""
    waiting_stream: EngineStream
    consumer_index: int
    """Index of the later item, which waits."""
    chunked_move: ChunkedLoad | ChunkedStore
    is_complete: bool
    """
    `True` if the move is the last instruction of the stream in the earlier item, so
    that the last wait completes the item.
    """

    def insert_signals_and_waits(self, semaphore: int) -> dict[Operation, Operation]:
        """Insert signals and wait loops; return each by its adjacent operation."""
        return self.chunked_move.insert_signals_and_waits(
            self.signalling_stream.engine, self.waiting_stream.engine, semaphore
        )


def _insert_signal_after(op: Operation, engine: str, semaphore: int) -> Operation:
    """
    Insert a new signal of `engine` directly after an operation, and return the signal.
    """
    signal, block = npu.SignalOp(engine, semaphore), op.parent
    assert block is not None
    block.insert_op_after(signal, op)
    return signal


def _build_wait_loop(
    index_builder: IndexBuilder, wait_count: Index, engine: str, semaphore: int
) -> Operation:
    """Build an `scf.for` of `wait_count` iterations with one wait of `engine` each."""
    body = Block(arg_types=[IndexType()])
    body.add_ops([npu.WaitOp(engine, semaphore), scf.YieldOp()])
    bounds = [index_builder.to_ssa_value(bound) for bound in (0, wait_count, 1)]
    return index_builder.builder.insert(
        scf.ForOp(bounds[0], bounds[1], bounds[2], [], body)
    )


@dataclass(frozen=True)
class _MovePair:
    """DMA move that fills a buffer, and later DMA move that reads the buffer."""

    producer_move: mem.DmaOp
    consumer_move: mem.DmaOp
    last_producer_op: Operation
    """Last instruction of the earlier move."""
    first_consumer_op: Operation
    """First instruction of the later move."""


def _find_only_move_pair(
    dependent_pairs: Sequence[tuple[InstructionLeaf, InstructionLeaf]],
) -> _MovePair | None:
    """Return the two moves of all pairs, if there are exactly two; otherwise `None`."""
    (earlier, *other_producers), (later, *other_consumers) = (
        {leaf.move for leaf in leaves} for leaves in zip(*dependent_pairs, strict=True)
    )
    if other_producers or other_consumers or earlier is None or later is None:
        return None
    last = max((leaf for leaf, _ in dependent_pairs), key=_program_step_of)
    first = min((leaf for _, leaf in dependent_pairs), key=_program_step_of)
    return _MovePair(earlier, later, last.op, first.op)


def _program_step_of(leaf: InstructionLeaf) -> int:
    return leaf.step


def _build_iteration_index(index_builder: IndexBuilder, loop: scf.ForOp) -> Index:
    """Build the zero-based iteration index of a loop."""
    step = constant_value_of(loop.step)
    assert step is not None
    distance = index_builder.build_sub(loop.body.block.args[0], loop.lb)
    return index_builder.build_floordiv(distance, step)
