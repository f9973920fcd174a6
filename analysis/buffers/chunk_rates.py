"""Rates at which loops consume loaded chunks and produce stored chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.dma_chunks import consume_period_of, produce_period_of
from tlf.analysis.buffers.index_enumeration import enumerate_index, induction_values_of
from tlf.analysis.buffers.normalized_loops import LoopRange, loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


@dataclass(frozen=True)
class ConsumeRate:
    """Consume rate of a load in loops: one more chunk every `period` iterations."""

    loops: tuple[LoopRange, ...]
    """Those around it as far as they matter, outermost first."""
    period: int
    chunks: int

    @property
    def depth(self) -> int:
        """Number of loops in which chunks are used."""
        return len(self.loops)


def consume_rate_of(
    chunks: Sequence[int], axis: int, load: mem.DmaOp, around: Operation
) -> ConsumeRate | None:
    """
    The pace of a load in a loop, where the chunks of what it reads begin at these
    elements along an axis, if it need not wait for all of them at first.
    """
    path: list[LoopRange] = []
    for counter in _loops_up_to(load, around):
        path.append(counter)
        if not counter.trips:
            return None
        starts = _offsets_per_iteration(load.mixed_source_offsets[axis], counter)
        if starts is None:
            continue
        period = consume_period_of(starts, load.box[axis], chunks)
        return None if period is None else ConsumeRate(tuple(path), period, len(chunks))
    return None


@dataclass(frozen=True)
class ProduceRate:
    """Produce rate of a loop: it completes a chunk every `period` iterations."""

    loop: LoopRange
    period: int
    chunks: int
    trips: int
    depth: int = 1


def produce_rate_of(
    chunks: Sequence[int], axis: int, maker: mem.DmaOp, around: Operation
) -> ProduceRate | None:
    """
    The delay of chunks that begin at these elements along an axis of what a move in a
    loop fills, if the first need not wait for all of it.
    """
    for counter in _loops_up_to(maker, around):
        if not (trips := counter.trips):
            return None
        starts = _offsets_per_iteration(maker.mixed_destination_offsets[axis], counter)
        if starts is not None:
            period = produce_period_of(starts, maker.box[axis], chunks)
            if period is None:
                return None
            return ProduceRate(counter, period, len(chunks), trips)
        if trips > 1:
            return None
    return None


def chunks_of_move(
    loop: scf.ForOp, move: mem.DmaOp, offsets: Sequence[Index]
) -> tuple[int, list[int]] | None:
    """
    The axis along which a move in the body of a loop goes in chunks, and where these
    begin on the side with these offsets, one for each iteration.
    """
    if move.parent is not loop.body.block or not (counts := induction_values_of(loop)):
        return None
    counter = loop.body.block.args[0]
    columns = [enumerate_index(each, counter, counts) for each in offsets]
    moving = [
        axis for axis, each in enumerate(columns) if each is None or len(set(each)) > 1
    ]
    if len(moving) != 1 or (starts := columns[moving[0]]) is None:
        return None
    return moving[0], starts


def _offsets_per_iteration(offset: Index, counter: LoopRange) -> list[int] | None:
    """
    Return the value of an offset in each iteration; None if it depends on anything
    else.
    """
    if counter.constant_bounds is None:
        return None
    return enumerate_index(offset, counter.variable, range(*counter.constant_bounds))


def _loops_up_to(op: Operation, around: Operation) -> list[LoopRange]:
    """The loops around an operation from one on; none if others are among them."""
    found: list[LoopRange] = []
    parent = op.parent_op()
    while parent is not None and (counters := loop_ranges_of(parent)):
        found = [*counters, *found]
        if parent is around:
            return found
        parent = parent.parent_op()
    return []


def for_op_of(counter: LoopRange) -> scf.ForOp:
    """The loop of a counter, of none that are parallel."""
    block = counter.variable.owner
    assert isinstance(block, Block)
    loop = block.parent_op()
    assert isinstance(loop, scf.ForOp)
    return loop
