"""
Cost model of `mem-chunk-stores`, on its schedule instead of IR: splitting of stores
that start before the whole buffer is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlf.analysis.buffers.dma_chunks import Chunking, produce_period_of
from tlf.dialects.target import Level
from tlf.planner.cost.program.chunked_moves import (
    drop_move_and_waits,
    find_best_chunking,
    find_only_other_move,
    is_at_view_start,
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
from tlf.planner.cost.program.move_cost import MoveCost


@dataclass(frozen=True)
class ChunkedStore:
    """Store of a whole buffer and the only move that fills it, in an earlier nest."""

    store: Instruction
    store_cost: MoveCost
    filling_move: Instruction
    filling_cost: MoveCost
    nest: Nest


@dataclass(frozen=True)
class ProduceRate:
    """Number of iterations that produce a chunk."""

    iterations_per_chunk: int
    depth: int = 1


def split_stores_into_chunks(
    items: list[Item], outer_level: Level, surrounding_nest: Nest | None = None
) -> None:
    """Split stores whose first chunks are computed early, including those in nests."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        split_stores_into_chunks(nest.body, outer_level, nest)
        for chunked in list(_chunkable_stores(items, nest, outer_level)):
            if (
                chunked.store_cost.source.view.buffer.allocation_nest
                is not surrounding_nest
            ):
                continue
            store = chunked.store_cost
            cut = find_best_chunking(
                store.destination,
                store.box_shape,
                outer_level,
                _produce_rate_function(chunked),
            )
            if cut is not None:
                _replace_store_by_chunk_nest(items, chunked, cut, surrounding_nest)


def _chunkable_stores(
    items: Sequence[Item], nest: Nest, outer_level: Level
) -> Iterator[ChunkedStore]:
    """Yield the stores right after a nest that may be split, in order."""

    def is_store(_: Buffer, destination: Buffer) -> bool:
        return destination.level == outer_level.name

    position = items.index(nest) + 1
    while position < len(items) and is_wait_or_move(item := items[position], is_store):
        position += 1
        if not isinstance(item, Instruction) or item.move_endpoints is None:
            continue
        if not isinstance(cost := item.cost, MoveCost) or not _is_store_of_whole_buffer(
            cost
        ):
            continue
        if (
            producer := find_only_other_move(item, item.move_endpoints[0], nest, items)
        ) is None:
            continue
        move, making = producer
        yield ChunkedStore(item, cost, move, making, nest)


def _is_store_of_whole_buffer(store_cost: MoveCost) -> bool:
    """Return `True` if a store reads its whole source view, outside of a ring."""
    view = store_cost.source.view
    return (
        view.ring_window is None
        and view.shape == store_cost.box_shape
        and is_at_view_start(store_cost.source)
    )


def _produce_rate_function(
    chunked_store: ChunkedStore,
) -> Callable[[int, range], ProduceRate | None]:
    """
    Return a function for the number of iterations that produce a chunk along an axis.
    """

    def rate_along(axis: int, starts: range) -> ProduceRate | None:
        ends = (
            chunked_store.filling_cost.destination.view,
            chunked_store.store_cost.source.view,
        )
        if offset_between(*ends, axis) != 0:
            return None
        offset, size = (
            chunked_store.filling_cost.destination.offsets[axis],
            chunked_store.filling_cost.box_shape[axis],
        )
        nest = chunked_store.nest
        if any(symbol not in nest.counters for symbol, _ in offset.terms):
            return None
        positions = [evaluate_index(offset, values) for values in counter_values(nest)]
        period = produce_period_of(positions, size, starts)
        return None if period is None else ProduceRate(period)

    return rate_along


def _replace_store_by_chunk_nest(
    items: list[Item],
    chunked_store: ChunkedStore,
    chunking: Chunking[ProduceRate],
    surrounding_nest: Nest | None,
) -> None:
    """Replace a store in `items`, in place, by a new nest that stores its chunks."""
    chunks, step = split_move_into_chunks(
        chunked_store.store,
        chunked_store.store_cost,
        chunking.axis,
        chunking.size,
        surrounding_nest,
        is_clipped=True,
    )
    buffer = chunked_store.store_cost.source.view.buffer
    restrict_access_to_chunk(
        step, buffer, ChunkBox(chunked_store.store, chunks, 1, chunks.trip_count)
    )
    restrict_access_to_chunk(
        chunked_store.filling_move,
        buffer,
        ChunkBox(
            chunked_store.store,
            chunked_store.nest,
            chunking.rate.iterations_per_chunk,
            chunks.trip_count,
        ),
    )
    position = items.index(chunked_store.store)
    items[:] = [
        *items[:position],
        chunks,
        *drop_move_and_waits(items[position:], chunked_store.store),
    ]
