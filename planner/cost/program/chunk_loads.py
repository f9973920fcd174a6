"""
Cost model of `mem-chunk-loads`: splitting of a schedule's loads that nests consume
chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add

from tlf.analysis.buffers.dma_chunks import Chunking, consume_period_of
from tlf.dialects.target import Level
from tlf.planner.cost.program.chunked_moves import (
    chunk_move,
    drop_move,
    find_best_cut,
    is_wait_or_move,
    offset_between,
    users_of,
    with_chunk_access,
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
    loading: MoveCost
    move: Instruction
    reading: MoveCost
    nest: Nest


@dataclass(frozen=True)
class ConsumeRate:
    """Rate at which a move in nests consumes chunks."""

    loops: tuple[Nest, ...]
    period: int

    @property
    def depth(self) -> int:
        """Number of nests around the move that consumes chunks."""
        return len(self.loops)


def load_in_chunks(items: list[Item], far: Level) -> None:
    """Split loads whose user can start before the whole load is complete."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        for use in list(_chunkable_loads(items, nest, far)):
            load = use.loading
            cut = find_best_cut(load.source, load.box, far, _consume_rates(use))
            if cut is not None and _is_covering(load, cut):
                _insert_chunk_nest(items, use, cut)


def _chunkable_loads(
    items: Sequence[Item], nest: Nest, far: Level
) -> Iterator[ChunkedLoad]:
    """Yield the loads right before a nest that may be split, in order."""

    def is_load(_: Buffer, destination: Buffer) -> bool:
        return destination.level != far.name

    first = end = items.index(nest)
    while first and is_wait_or_move(items[first - 1], is_load):
        first -= 1
    for index, load in enumerate(items[first:end], first + 1):
        if not isinstance(load, Instruction) or not _is_load_from(load, far):
            continue
        if not isinstance(cost := load.cost, MoveCost) or not _has_fixed_target(
            load, cost
        ):
            continue
        if (user := _find_reader(load, items, index, end)) is None:
            continue
        move, reading = user
        yield ChunkedLoad(load, _clip_to_source(cost), move, reading, nest)


def _is_load_from(load: Instruction, far: Level) -> bool:
    return load.moves is not None and load.moves[0].level == far.name


def _has_fixed_target(load: Instruction, price: MoveCost) -> bool:
    """Return `True` if a load fills a box of a buffer outside of all loops."""
    buffer = price.destination.place.buffer
    if load.ahead or buffer.home is not None or buffer.multibuffer_nest is not None:
        return False
    sides = price.source, price.destination
    return all(not offset.terms for side in sides for offset in side.offsets)


def _find_reader(
    load: Instruction, items: Sequence[Item], behind: int, nest: int
) -> tuple[Instruction, MoveCost] | None:
    """
    Return the only move that reads the destination of a load, if it is in the nest at
    position `nest` and nothing after position `behind` uses the buffer before that
    nest.
    """
    assert load.moves is not None
    users = users_of(load.moves[1], items[behind:])
    if len(inside := [step for item, step in users if item is items[nest]]) != 1:
        return None
    if any(item in items[behind:nest] for item, _ in users):
        return None
    if users_of(load.moves[1], items[: behind - 1]):
        return None
    (reader,) = inside
    return (reader, reader.cost) if isinstance(reader.cost, MoveCost) else None


def _clip_to_source(price: MoveCost) -> MoveCost:
    """Return the cost of a load without the elements before the start of its source."""
    excess = [max(0, -each.constant) for each in price.source.offsets]
    if not any(excess):
        return price
    sides = [
        MoveSide(side.place, tuple(map(add, side.offsets, map(AffineSum, excess))))
        for side in (price.source, price.destination)
    ]
    box = tuple(size - cut for size, cut in zip(price.box, excess, strict=True))
    return MoveCost(price.costs, price.engine, sides[0], sides[1], box)


def _is_covering(load: MoveCost, cut: Chunking[ConsumeRate]) -> bool:
    """Return `True` if chunks write no more than the load writes."""
    size, axis = load.box[cut.axis], cut.axis
    end = load.destination.offsets[axis].constant + size
    return size % cut.size == 0 or end >= load.destination.place.shape[axis]


def _consume_rates(use: ChunkedLoad) -> Callable[[int, range], ConsumeRate | None]:
    """Return a function for the rate at which chunks along an axis are consumed."""
    path = _nests_around(use)

    def rate_along(axis: int, starts: range) -> ConsumeRate | None:
        offset, size = use.reading.source.offsets[axis], use.reading.box[axis]
        first = use.loading.destination.offsets[axis].constant
        shift = offset_between(
            use.loading.destination.place, use.reading.source.place, axis
        )
        if shift is None:
            return None
        first += shift
        chunks = [first + start for start in starts]
        for depth, nest in enumerate(path, 1):
            if not nest.trips:
                return None
            if any(symbol not in nest.variables for symbol, _ in offset.terms):
                continue
            positions = [
                evaluate_index(offset, values) for values in counter_values(nest)
            ]
            period = consume_period_of(positions, size, chunks)
            return None if period is None else ConsumeRate(path[:depth], period)
        return None

    return rate_along


def _nests_around(use: ChunkedLoad) -> tuple[Nest, ...]:
    """Return the nests around the move of a use, outermost first."""
    path, body = [use.nest], use.nest.body
    while use.move not in body:
        inner = next(
            item
            for item in body
            if isinstance(item, Nest) and use.move in item.instructions()
        )
        path.append(inner)
        body = inner.body
    return tuple(path)


def _insert_chunk_nest(
    items: list[Item], use: ChunkedLoad, cut: Chunking[ConsumeRate]
) -> None:
    """Insert a nest over the chunks of a load right before the nest that uses it."""
    chunks, step = chunk_move(use.load, use.loading, cut.axis, cut.size, None)
    buffer = use.loading.destination.place.buffer
    queues = {s.queue for s in use.nest.body if isinstance(s, Instruction) and s.ahead}
    if queues <= {use.load.queue}:
        chunks.opens = use.nest
    with_chunk_access(step, buffer, ChunkBox(use.load, chunks, 1, chunks.trips))
    with_chunk_access(
        use.move,
        buffer,
        ChunkBox(use.load, cut.rate.loops[-1], cut.rate.period, chunks.trips),
    )
    position = _insert_position(items, use)
    items[:] = [
        *drop_move(items[:position], use.load),
        chunks,
        *drop_move(items[position:], use.load),
    ]


def _insert_position(items: Sequence[Item], use: ChunkedLoad) -> int:
    """
    Return the position of the chunks: after other loads for the nest, before loads for
    later nests.
    """
    first, nest_position = items.index(use.load), items.index(use.nest)
    needed = {
        access.buffer
        for step in use.nest.instructions()
        for access in step.reads_and_writes
    }
    for item in items[nest_position - 1 : first : -1]:
        if (ends := _endpoints_of(item)) is not None and ends[1] in needed:
            needed.add(ends[0])
    for position, item in enumerate(items[first + 1 : nest_position], first + 1):
        if (ends := _endpoints_of(item)) is not None and ends[1] not in needed:
            return position
    return nest_position


def _endpoints_of(item: Item) -> tuple[Buffer, Buffer] | None:
    """Return the buffers between which an item moves boxes, or `None`."""
    return None if isinstance(item, Nest) or item.indexed else item.moves
