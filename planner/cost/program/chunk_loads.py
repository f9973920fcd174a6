"""Split loads that nests consume chunk by chunk, as `mem-chunk-loads` does."""

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
    """Load of a box and the only move that reads it in a later nest."""

    load: Instruction
    loading: MoveCost
    move: Instruction
    reading: MoveCost
    nest: Nest


@dataclass(frozen=True)
class ConsumeRate:
    """Rate at which a move in nests uses chunks."""

    loops: tuple[Nest, ...]
    period: int

    @property
    def depth(self) -> int:
        """In how many nests chunks are used."""
        return len(self.loops)


def load_in_chunks(items: list[Item], far: Level) -> None:
    """Split loads that their user need not wait for as a whole."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        for use in list(_chunkable_loads(items, nest, far)):
            load = use.loading
            cut = find_best_cut(load.source, load.box, far, _consume_rates(use))
            if cut is not None and _is_covering(load, cut):
                _insert_chunk_nest(items, use, cut)


def _chunkable_loads(
    items: Sequence[Item], nest: Nest, far: Level
) -> Iterator[ChunkedLoad]:
    """The loads right before a nest that may be cut, in order."""

    def is_load(_: Buffer, destination: Buffer) -> bool:
        return destination.level != far.name

    first = at = items.index(nest)
    while first and is_wait_or_move(items[first - 1], is_load):
        first -= 1
    for number, load in enumerate(items[first:at], first + 1):
        if not isinstance(load, Instruction) or not _is_load_from(load, far):
            continue
        if not isinstance(price := load.cost, MoveCost) or not _has_fixed_target(
            load, price
        ):
            continue
        if (user := _find_reader(load, items, number, at)) is None:
            continue
        move, reading = user
        yield ChunkedLoad(load, _clip_to_source(price), move, reading, nest)


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
    """The one move that reads what a load filled, behind it and up to a nest."""
    assert load.moves is not None
    users = users_of(load.moves[1], items[behind:])
    if len(inside := [step for item, step in users if item is items[nest]]) != 1:
        return None
    if any(item in items[behind:nest] for item, _ in users):
        return None
    if users_of(load.moves[1], items[: behind - 1]):
        return None
    (found,) = inside
    return (found, found.cost) if isinstance(found.cost, MoveCost) else None


def _clip_to_source(price: MoveCost) -> MoveCost:
    """A load, without what lies before its source begins."""
    left = [max(0, -each.constant) for each in price.source.offsets]
    if not any(left):
        return price
    sides = [
        MoveSide(side.place, tuple(map(add, side.offsets, map(AffineSum, left))))
        for side in (price.source, price.destination)
    ]
    box = tuple(size - cut for size, cut in zip(price.box, left, strict=True))
    return MoveCost(price.costs, price.engine, sides[0], sides[1], box)


def _is_covering(load: MoveCost, cut: Chunking[ConsumeRate]) -> bool:
    """Return `True` if chunks fill no more than the load does."""
    size, axis = load.box[cut.axis], cut.axis
    end = load.destination.offsets[axis].constant + size
    return size % cut.size == 0 or end >= load.destination.place.shape[axis]


def _consume_rates(use: ChunkedLoad) -> Callable[[int, range], ConsumeRate | None]:
    """Return a function for the rate at which chunks along an axis are used."""
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
            found = [evaluate_index(offset, values) for values in counter_values(nest)]
            period = consume_period_of(found, size, chunks)
            return None if period is None else ConsumeRate(path[:depth], period)
        return None

    return rate_along


def _nests_around(use: ChunkedLoad) -> tuple[Nest, ...]:
    """The nests around the move of a use, from the outermost one on."""
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
    """Put a nest over chunks of a load right before the one that uses it."""
    made, step = chunk_move(use.load, use.loading, cut.axis, cut.size, None)
    buffer = use.loading.destination.place.buffer
    queues = {s.queue for s in use.nest.body if isinstance(s, Instruction) and s.ahead}
    if queues <= {use.load.queue}:
        made.opens = use.nest
    with_chunk_access(step, buffer, ChunkBox(use.load, made, 1, made.trips))
    with_chunk_access(
        use.move,
        buffer,
        ChunkBox(use.load, cut.rate.loops[-1], cut.rate.period, made.trips),
    )
    at = _insert_position(items, use)
    items[:] = [
        *drop_move(items[:at], use.load),
        made,
        *drop_move(items[at:], use.load),
    ]


def _insert_position(items: Sequence[Item], use: ChunkedLoad) -> int:
    """
    Return the position of chunks: after other loads for a nest, before those for later
    ones.
    """
    at, nest = items.index(use.load), items.index(use.nest)
    needed = {
        access.buffer
        for step in use.nest.instructions()
        for access in step.reads_and_writes
    }
    for item in items[nest - 1 : at : -1]:
        if (ends := _endpoints_of(item)) is not None and ends[1] in needed:
            needed.add(ends[0])
    for number, item in enumerate(items[at + 1 : nest], at + 1):
        if (ends := _endpoints_of(item)) is not None and ends[1] not in needed:
            return number
    return nest


def _endpoints_of(item: Item) -> tuple[Buffer, Buffer] | None:
    """Between which buffers an item moves boxes."""
    return None if isinstance(item, Nest) or item.indexed else item.moves
