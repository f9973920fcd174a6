"""
Analysis of loops: rates at which they consume loaded chunks and produce stored chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.dma_chunks import consume_period_of, produce_period_of
from tlf.analysis.buffers.index_enumeration import enumerate_index_values
from tlf.analysis.buffers.normalized_loops import LoopRange, loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


@dataclass(frozen=True)
class ConsumeRate:
    """Consume rate of a load in loops: one more chunk every `period` iterations."""

    loops: tuple[LoopRange, ...]
    """Loops around the load that determine the rate, outermost first."""
    period: int
    chunk_count: int

    @property
    def depth(self) -> int:
        """Number of loops in which chunks are used."""
        return len(self.loops)


def consume_rate_of(
    chunk_starts: Sequence[int], axis: int, load: mem.DmaOp, enclosing_op: Operation
) -> ConsumeRate | None:
    """
    Return the consume rate of a load in a loop, for chunks of its source that begin at
    the elements `chunk_starts` along an axis. None if the load must wait for all chunks
    first.
    """
    path: list[LoopRange] = []
    for loop in _loops_between(load, enclosing_op):
        path.append(loop)
        if not loop.trips:
            return None
        starts = _offsets_per_iteration(load.mixed_source_offsets[axis], loop)
        if starts is None:
            continue
        period = consume_period_of(starts, load.box_sizes[axis], chunk_starts)
        return (
            None
            if period is None
            else ConsumeRate(tuple(path), period, len(chunk_starts))
        )
    return None


@dataclass(frozen=True)
class ProduceRate:
    """Produce rate of a loop: it completes a chunk every `period` iterations."""

    loop: LoopRange
    period: int
    chunk_count: int
    trips: int
    depth: int = 1


def produce_rate_of(
    chunk_starts: Sequence[int], axis: int, producer: mem.DmaOp, enclosing_op: Operation
) -> ProduceRate | None:
    """
    Return the produce rate of a move in a loop, for chunks of its destination that
    begin at the elements `chunk_starts` along an axis. None if the first chunk must
    wait for the whole buffer.
    """
    for loop in _loops_between(producer, enclosing_op):
        if not (trips := loop.trips):
            return None
        starts = _offsets_per_iteration(producer.mixed_destination_offsets[axis], loop)
        if starts is not None:
            period = produce_period_of(starts, producer.box_sizes[axis], chunk_starts)
            if period is None:
                return None
            return ProduceRate(loop, period, len(chunk_starts), trips)
        if trips > 1:
            return None
    return None


def advancing_chunks_of_move(
    loop: scf.ForOp, move: mem.DmaOp, offsets: Sequence[Index]
) -> tuple[int, list[int]] | None:
    """
    Return the axis along which a move in the body of a loop advances in chunks, and the
    start of the chunk of each iteration, on the side with these offsets; None if
    several axes advance or the starts are unknown.
    """
    (counter,) = loop_ranges_of(loop)
    if move.parent is not loop.body.block or not counter.values:
        return None
    columns = [_offsets_per_iteration(each, counter) for each in offsets]
    varying_axes = [
        axis for axis, each in enumerate(columns) if each is None or len(set(each)) > 1
    ]
    if len(varying_axes) != 1 or (starts := columns[varying_axes[0]]) is None:
        return None
    return varying_axes[0], starts


def _offsets_per_iteration(offset: Index, loop_range: LoopRange) -> list[int] | None:
    """
    Return the value of an offset in each iteration; None if it depends on anything
    else.
    """
    if (values := loop_range.values) is None:
        return None
    return enumerate_index_values(offset, loop_range.variable, values)


def _loops_between(op: Operation, enclosing_op: Operation) -> list[LoopRange]:
    """
    Return the loops around an operation up to `enclosing_op`; empty if another
    operation is between.
    """
    loops: list[LoopRange] = []
    parent = op.parent_op()
    while parent is not None and (ranges := loop_ranges_of(parent)):
        loops = [*ranges, *loops]
        if parent is enclosing_op:
            return loops
        parent = parent.parent_op()
    return []


def for_op_of(loop_range: LoopRange) -> scf.ForOp:
    """Return the `scf.for` of a loop range, which must not be of a parallel loop."""
    block = loop_range.variable.owner
    assert isinstance(block, Block)
    loop = block.parent_op()
    assert isinstance(loop, scf.ForOp)
    return loop
