"""Split stores that begin before all is computed, as `mem-chunk-stores` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlf.analysis.buffers.dma_chunks import Chunking, produce_period_of
from tlf.dialects.target import Level
from tlf.planner.cost.program.chunked_moves import (
    chunk_move,
    drop_move,
    find_best_cut,
    find_other_move,
    is_at_start,
    is_wait_or_move,
    offset_between,
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
from tlf.planner.cost.program.move_cost import MoveCost


@dataclass(frozen=True)
class ChunkedStore:
    """Store of a whole buffer and the only move that fills it in an earlier nest."""

    store: Instruction
    storing: MoveCost
    move: Instruction
    making: MoveCost
    nest: Nest


@dataclass(frozen=True)
class ProduceRate:
    """Number of iterations that compute a chunk."""

    period: int
    depth: int = 1


def store_in_chunks(items: list[Item], far: Level, around: Nest | None = None) -> None:
    """Split stores whose first part is computed early, in nests, too."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        store_in_chunks(nest.body, far, nest)
        for made in list(_chunkable_stores(items, nest, far)):
            if made.storing.source.place.buffer.home is not around:
                continue
            store = made.storing
            cut = find_best_cut(store.destination, store.box, far, _produce_rates(made))
            if cut is not None:
                _replace_by_chunk_nest(items, made, cut, around)


def _chunkable_stores(
    items: Sequence[Item], nest: Nest, far: Level
) -> Iterator[ChunkedStore]:
    """The stores right behind a nest that may be cut, in order."""

    def is_store(_: Buffer, destination: Buffer) -> bool:
        return destination.level == far.name

    at = items.index(nest) + 1
    while at < len(items) and is_wait_or_move(item := items[at], is_store):
        at += 1
        if not isinstance(item, Instruction) or item.moves is None:
            continue
        if not isinstance(price := item.cost, MoveCost) or not _is_whole_buffer(price):
            continue
        if (maker := find_other_move(item, item.moves[0], nest, items)) is None:
            continue
        move, making = maker
        yield ChunkedStore(item, price, move, making, nest)


def _is_whole_buffer(price: MoveCost) -> bool:
    """Return `True` if a store reads all of a buffer."""
    place = price.source.place
    return (
        place.window is None and place.shape == price.box and is_at_start(price.source)
    )


def _produce_rates(made: ChunkedStore) -> Callable[[int, range], ProduceRate | None]:
    """
    Return a function for the number of iterations that compute a chunk along an axis.
    """

    def rate_along(axis: int, starts: range) -> ProduceRate | None:
        ends = made.making.destination.place, made.storing.source.place
        if offset_between(*ends, axis) != 0:
            return None
        offset, size = made.making.destination.offsets[axis], made.making.box[axis]
        nest = made.nest
        if any(symbol not in nest.variables for symbol, _ in offset.terms):
            return None
        found = [evaluate_index(offset, values) for values in counter_values(nest)]
        period = produce_period_of(found, size, starts)
        return None if period is None else ProduceRate(period)

    return rate_along


def _replace_by_chunk_nest(
    items: list[Item],
    made: ChunkedStore,
    cut: Chunking[ProduceRate],
    around: Nest | None,
) -> None:
    """Put a nest over chunks in place of a store."""
    chunks, step = chunk_move(
        made.store, made.storing, cut.axis, cut.size, around, clipped=True
    )
    buffer = made.storing.source.place.buffer
    with_chunk_access(step, buffer, ChunkBox(made.store, chunks, 1, chunks.trips))
    with_chunk_access(
        made.move,
        buffer,
        ChunkBox(made.store, made.nest, cut.rate.period, chunks.trips),
    )
    at = items.index(made.store)
    items[:] = [*items[:at], chunks, *drop_move(items[at:], made.store)]
