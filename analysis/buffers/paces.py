"""
Rates at which loops may consume data that arrives in chunks, and produce data that
leaves in chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.chunks import period_before, period_of
from tlf.analysis.buffers.columns import column, counts_of
from tlf.analysis.buffers.counters import Counter, counters_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


@dataclass(frozen=True)
class Pace:
    """
    That of a load inside of loops, from a buffer that is filled in chunks: in the first
    iterations of all loops around the last one, that needs another chunk every `period`
    iterations.
    """

    loops: tuple[Counter, ...]
    """Those around it as far as they matter, outermost first."""
    period: int
    chunks: int

    @property
    def depth(self) -> int:
        """Number of loops in which chunks are used."""
        return len(self.loops)


def pace_of(
    chunks: Sequence[int], axis: int, load: mem.DmaOp, around: Operation
) -> Pace | None:
    """
    The pace of a load in a loop, where the chunks of what it reads begin at these
    elements along an axis, if it need not wait for all of them at first.
    """
    path: list[Counter] = []
    for counter in _counters(load, around):
        path.append(counter)
        if not counter.trips:
            return None
        starts = _starts(load.mixed_source_offsets[axis], counter)
        if starts is None:
            continue
        period = period_of(starts, load.box[axis], chunks)
        return None if period is None else Pace(tuple(path), period, len(chunks))
    return None


@dataclass(frozen=True)
class Delay:
    """
    That of stores in chunks, behind loops that make what they store: one does `period`
    of its `trips` iterations for each chunk, and what is left for the last one.
    """

    loop: Counter
    period: int
    chunks: int
    trips: int
    depth: int = 1


def delay_of(
    chunks: Sequence[int], axis: int, maker: mem.DmaOp, around: Operation
) -> Delay | None:
    """
    The delay of chunks that begin at these elements along an axis of what a move in a
    loop fills, if the first need not wait for all of it.
    """
    for counter in _counters(maker, around):
        if not (trips := counter.trips):
            return None
        starts = _starts(maker.mixed_destination_offsets[axis], counter)
        if starts is not None:
            period = period_before(starts, maker.box[axis], chunks)
            if period is None:
                return None
            return Delay(counter, period, len(chunks), trips)
        if trips > 1:
            return None
    return None


def chunks_of(
    loop: scf.ForOp, move: mem.DmaOp, offsets: Sequence[Index]
) -> tuple[int, list[int]] | None:
    """
    The axis along which a move in the body of a loop goes in chunks, and where these
    begin on the side with these offsets, one for each iteration.
    """
    if move.parent is not loop.body.block or not (counts := counts_of(loop)):
        return None
    counter = loop.body.block.args[0]
    columns = [column(each, counter, counts) for each in offsets]
    moving = [
        axis for axis, each in enumerate(columns) if each is None or len(set(each)) > 1
    ]
    if len(moving) != 1 or (starts := columns[moving[0]]) is None:
        return None
    return moving[0], starts


def _starts(offset: Index, counter: Counter) -> list[int] | None:
    """
    Return the value of an offset in each iteration; None if it depends on anything
    else.
    """
    if counter.numbers is None:
        return None
    return column(offset, counter.variable, range(*counter.numbers))


def _counters(op: Operation, around: Operation) -> list[Counter]:
    """The loops around an operation from one on; none if others are among them."""
    found: list[Counter] = []
    parent = op.parent_op()
    while parent is not None and (counters := counters_of(parent)):
        found = [*counters, *found]
        if parent is around:
            return found
        parent = parent.parent_op()
    return []


def loop_of(counter: Counter) -> scf.ForOp:
    """The loop of a counter, of none that are parallel."""
    block = counter.variable.owner
    assert isinstance(block, Block)
    loop = block.parent_op()
    assert isinstance(loop, scf.ForOp)
    return loop
