"""
Cost model of `mem-chunk-loads`, on its schedule instead of IR: splitting of loads that
nests consume chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add

from tlf.analysis.buffers.dma_chunks import Chunking, consume_period_of
from tlf.dialects.target import Level
from tlf.planner.cost.program.chunked_moves import (
    drop_move_and_waits,
    find_best_chunking,
    instructions_accessing,
    is_wait_or_move,
    offset_between,
    restrict_access_to_chunk,
    split_move_into_chunks,
)
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    ChunkBox,
    Instruction,
    Item,
    Nest,
    counter_values,
    evaluate_index,
)
from tlf.planner.cost.program.move_cost import MoveCost, MoveSide
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class ChunkedLoad:
    """Load of a box and the only move that reads it, in a later nest."""

    load: Instruction
    load_cost: MoveCost
    reading_move: Instruction
    reading_cost: MoveCost
    nest: Nest


@dataclass(frozen=True)
class ConsumeRate:
    """Iterations per chunk of the move that reads a load, and the nests around it."""

    surrounding_nests: tuple[Nest, ...]
    iterations_per_chunk: int

    @property
    def depth(self) -> int:
        """Number of nests around the move that consumes chunks."""
        return len(self.surrounding_nests)


def split_loads_into_chunks(items: list[Item], outer_level: Level) -> None:
    """Split loads whose user can start before the whole load is complete."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        for use in list(_chunkable_loads(items, nest, outer_level)):
            load = use.load_cost
            cut = find_best_chunking(
                load.source, load.box_shape, outer_level, consume_rate_function(use)
            )
            if cut is not None and _has_chunks_within_load(load, cut):
                _insert_chunk_nest(items, use, cut)


def _chunkable_loads(
    items: Sequence[Item], nest: Nest, outer_level: Level
) -> Iterator[ChunkedLoad]:
    """Yield the loads right before a nest that may be split, in order."""

    def is_load(_: Buffer, destination: Buffer) -> bool:
        return destination.level != outer_level.name

    first = end = items.index(nest)
    while first and is_wait_or_move(items[first - 1], is_load):
        first -= 1
    for index, load in enumerate(items[first:end], first + 1):
        if not isinstance(load, Instruction) or not _is_load_from(load, outer_level):
            continue
        if not isinstance(cost := load.cost, MoveCost) or not _has_fixed_destination(
            load, cost
        ):
            continue
        if (user := _find_reading_move(load, items, index, end)) is None:
            continue
        move, reading = user
        yield ChunkedLoad(load, _clip_load_to_source(cost), move, reading, nest)


def _is_load_from(load: Instruction, outer_level: Level) -> bool:
    """
    Return `True` if an instruction is a move whose source buffer is in `outer_level`.
    """
    return (
        load.move_endpoints is not None
        and load.move_endpoints[0].level == outer_level.name
    )


def _has_fixed_destination(load: Instruction, load_cost: MoveCost) -> bool:
    """Return `True` if a load fills a box of a buffer outside of all loops."""
    buffer = load_cost.destination.view.buffer
    if (
        load.prefetch_distance
        or buffer.allocation_nest is not None
        or buffer.multibuffer_nest is not None
    ):
        return False
    sides = load_cost.source, load_cost.destination
    return all(not offset.terms for side in sides for offset in side.offsets)


def _find_reading_move(
    load: Instruction, items: Sequence[Item], next_position: int, nest_position: int
) -> tuple[Instruction, MoveCost] | None:
    """
    Return the only move that reads the destination of a load, if it is in the nest at
    position `nest_position` and nothing after position `next_position` uses the buffer
    before that nest.
    """
    assert load.move_endpoints is not None
    users = instructions_accessing(load.move_endpoints[1], items[next_position:])
    if (
        len(inside := [step for item, step in users if item is items[nest_position]])
        != 1
    ):
        return None
    if any(item in items[next_position:nest_position] for item, _ in users):
        return None
    if instructions_accessing(load.move_endpoints[1], items[: next_position - 1]):
        return None
    (reader,) = inside
    return (reader, reader.cost) if isinstance(reader.cost, MoveCost) else None


def _clip_load_to_source(load_cost: MoveCost) -> MoveCost:
    """Return the cost of a load without the elements before the start of its source."""
    excess = [max(0, -each.constant) for each in load_cost.source.offsets]
    if not any(excess):
        return load_cost
    sides = [
        MoveSide(side.view, tuple(map(add, side.offsets, map(AffineSum, excess))))
        for side in (load_cost.source, load_cost.destination)
    ]
    box = tuple(
        size - cut for size, cut in zip(load_cost.box_shape, excess, strict=True)
    )
    return MoveCost(load_cost.costs, load_cost.engine, sides[0], sides[1], box)


def _has_chunks_within_load(
    load_cost: MoveCost, chunking: Chunking[ConsumeRate]
) -> bool:
    """Return `True` if chunks write no more than the load writes."""
    size, axis = load_cost.box_shape[chunking.axis], chunking.axis
    end = load_cost.destination.offsets[axis].constant + size
    return size % chunking.size == 0 or end >= load_cost.destination.view.shape[axis]


def consume_rate_function(
    chunked_load: ChunkedLoad,
) -> Callable[[int, range], ConsumeRate | None]:
    """Return a function for the rate at which chunks along an axis are consumed."""
    path = _nests_around_reader(chunked_load)

    def rate_along(axis: int, starts: range) -> ConsumeRate | None:
        offset, size = (
            chunked_load.reading_cost.source.offsets[axis],
            chunked_load.reading_cost.box_shape[axis],
        )
        first = chunked_load.load_cost.destination.offsets[axis].constant
        shift = offset_between(
            chunked_load.load_cost.destination.view,
            chunked_load.reading_cost.source.view,
            axis,
        )
        if shift is None:
            return None
        first += shift
        chunks = [first + start for start in starts]
        for depth, nest in enumerate(path, 1):
            if not nest.trip_count:
                return None
            if any(symbol not in nest.counters for symbol, _ in offset.terms):
                continue
            positions = [
                evaluate_index(offset, values) for values in counter_values(nest)
            ]
            period = consume_period_of(positions, size, chunks)
            return None if period is None else ConsumeRate(path[:depth], period)
        return None

    return rate_along


def _nests_around_reader(chunked_load: ChunkedLoad) -> tuple[Nest, ...]:
    """Return the nests around the move that reads a load, outermost first."""
    path, body = [chunked_load.nest], chunked_load.nest.body
    while chunked_load.reading_move not in body:
        inner = next(
            item
            for item in body
            if isinstance(item, Nest)
            and chunked_load.reading_move in item.instructions()
        )
        path.append(inner)
        body = inner.body
    return tuple(path)


def _insert_chunk_nest(
    items: list[Item], chunked_load: ChunkedLoad, chunking: Chunking[ConsumeRate]
) -> None:
    """Insert a nest over the chunks of a load right before the nest that uses it."""
    chunks, step = split_move_into_chunks(
        chunked_load.load, chunked_load.load_cost, chunking.axis, chunking.size, None
    )
    buffer = chunked_load.load_cost.destination.view.buffer
    queues = {
        s.queue
        for s in chunked_load.nest.body
        if isinstance(s, Instruction) and s.prefetch_distance
    }
    if queues <= {chunked_load.load.queue}:
        chunks.prologue_nest = chunked_load.nest
    restrict_access_to_chunk(
        step, buffer, ChunkBox(chunked_load.load, chunks, 1, chunks.trip_count)
    )
    restrict_access_to_chunk(
        chunked_load.reading_move,
        buffer,
        ChunkBox(
            chunked_load.load,
            chunking.rate.surrounding_nests[-1],
            chunking.rate.iterations_per_chunk,
            chunks.trip_count,
        ),
    )
    position = _position_of_chunk_nest(items, chunked_load)
    items[:] = [
        *drop_move_and_waits(items[:position], chunked_load.load),
        chunks,
        *drop_move_and_waits(items[position:], chunked_load.load),
    ]


def _position_of_chunk_nest(items: Sequence[Item], chunked_load: ChunkedLoad) -> int:
    """
    Return the position of the chunks: after other loads for the nest, before loads for
    later nests.
    """
    first, nest_position = (
        items.index(chunked_load.load),
        items.index(chunked_load.nest),
    )
    needed = {
        access.buffer
        for step in chunked_load.nest.instructions()
        for access in step.reads_and_writes
    }
    for item in items[nest_position - 1 : first : -1]:
        if (ends := _move_endpoints_of(item)) is not None and ends[1] in needed:
            needed.add(ends[0])
    for position, item in enumerate(items[first + 1 : nest_position], first + 1):
        if (ends := _move_endpoints_of(item)) is not None and ends[1] not in needed:
            return position
    return nest_position


def _move_endpoints_of(item: Item) -> tuple[Buffer, Buffer] | None:
    """Return the buffers between which an item moves boxes, or `None`."""
    return None if isinstance(item, Nest) or item.is_indexed else item.move_endpoints
