"""
Cost model of `mem-chunk-stores`: splitting of a schedule's stores that start before the
whole buffer is computed.
"""

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
    """Store of a whole buffer and the only move that fills it, in an earlier nest."""

    store: Instruction
    storing: MoveCost
    move: Instruction
    making: MoveCost
    nest: Nest


@dataclass(frozen=True)
class ProduceRate:
    """Number of iterations that produce a chunk."""

    period: int
    depth: int = 1


def store_in_chunks(items: list[Item], far: Level, around: Nest | None = None) -> None:
    """Split stores whose first chunks are computed early, including those in nests."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        store_in_chunks(nest.body, far, nest)
        for chunked in list(_chunkable_stores(items, nest, far)):
            if chunked.storing.source.place.buffer.home is not around:
                continue
            store = chunked.storing
            cut = find_best_cut(
                store.destination, store.box, far, _produce_rates(chunked)
            )
            if cut is not None:
                _replace_by_chunk_nest(items, chunked, cut, around)


def _chunkable_stores(
    items: Sequence[Item], nest: Nest, far: Level
) -> Iterator[ChunkedStore]:
    """Yield the stores right after a nest that may be split, in order."""

    def is_store(_: Buffer, destination: Buffer) -> bool:
        return destination.level == far.name

    position = items.index(nest) + 1
    while position < len(items) and is_wait_or_move(item := items[position], is_store):
        position += 1
        if not isinstance(item, Instruction) or item.moves is None:
            continue
        if not isinstance(cost := item.cost, MoveCost) or not _is_whole_buffer(cost):
            continue
        if (producer := find_other_move(item, item.moves[0], nest, items)) is None:
            continue
        move, making = producer
        yield ChunkedStore(item, cost, move, making, nest)


def _is_whole_buffer(price: MoveCost) -> bool:
    """Return `True` if a store reads a whole buffer."""
    view = price.source.place
    return view.window is None and view.shape == price.box and is_at_start(price.source)


def _produce_rates(made: ChunkedStore) -> Callable[[int, range], ProduceRate | None]:
    """
    Return a function for the number of iterations that produce a chunk along an axis.
    """

    def rate_along(axis: int, starts: range) -> ProduceRate | None:
        ends = made.making.destination.place, made.storing.source.place
        if offset_between(*ends, axis) != 0:
            return None
        offset, size = made.making.destination.offsets[axis], made.making.box[axis]
        nest = made.nest
        if any(symbol not in nest.variables for symbol, _ in offset.terms):
            return None
        positions = [evaluate_index(offset, values) for values in counter_values(nest)]
        period = produce_period_of(positions, size, starts)
        return None if period is None else ProduceRate(period)

    return rate_along


def _replace_by_chunk_nest(
    items: list[Item],
    made: ChunkedStore,
    cut: Chunking[ProduceRate],
    around: Nest | None,
) -> None:
    """Replace a store by a nest over its chunks."""
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
    position = items.index(made.store)
    items[:] = [*items[:position], chunks, *drop_move(items[position:], made.store)]
