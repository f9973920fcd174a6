"""
Cost model of `mem-chunk-loads` and `mem-chunk-stores`: moves of its schedule replaced
by nests over chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import add

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.chunking.chunk_selection import ChunkedMove
from tlf.planner.chunking.load_chunking import select_chunked_loads
from tlf.planner.chunking.store_chunking import select_chunked_stores
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    ChunkBox,
    Instruction,
    Item,
    LoopCounter,
    Nest,
)
from tlf.planner.cost.program.move_cost import MoveCost, MoveSide
from tlf.planner.cost.program.schedule_block import ScheduleBlock, ScheduleTileAccess
from tlf.support.affine.index_access import AffineSum


def split_loads_into_chunks(items: list[Item], target: TargetSpec) -> None:
    """Split loads whose user can start before the whole load is complete."""
    block = ScheduleBlock(tuple(items), items)
    for chunked in select_chunked_loads(block, target.outermost_level):
        chunks = _replace_move_by_chunk_nest(items, block, chunked)
        load, _ = block.instruction_at(chunked.position)
        user = chunked.access.loops[0].nest
        early = [
            each
            for each in user.body
            if isinstance(each, Instruction) and each.prefetch_distance
        ]
        if all(each.queue == load.queue for each in early):
            chunks.prologue_nest = user


def split_stores_into_chunks(items: list[Item], target: TargetSpec) -> None:
    """Split stores whose first chunks are computed early, including those in nests."""
    _split_stores_in(items, items, target.outermost_level, None)


def _split_stores_in(
    items: list[Item],
    program: Sequence[Item],
    outer_level: Level,
    surrounding_nest: Nest | None,
) -> None:
    """Split the stores in items of a nest or of a whole program, in place."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        _split_stores_in(nest.body, program, outer_level, nest)
    block = ScheduleBlock(tuple(items), program, surrounding_nest)
    for chunked in select_chunked_stores(block, outer_level):
        _replace_move_by_chunk_nest(items, block, chunked)


def _replace_move_by_chunk_nest(
    items: list[Item], block: ScheduleBlock, chunked: ChunkedMove[ScheduleTileAccess]
) -> Nest:
    """Replace a move in `items`, in place, by a nest over its chunks."""
    move, cost = block.instruction_at(chunked.position)
    rate, access = chunked.chunking.rate, chunked.access
    chunk_cost, variable = _cost_of_chunk(cost, chunked)
    chunks = Nest((variable,), block.surrounding_nest)
    chunks.body.append(chunk := replace(move, cost=chunk_cost))
    buffer, count = access.side.view.buffer, rate.chunk_count
    _restrict_access(chunk, buffer, ChunkBox(move, chunks, 1, count))
    loop = access.loops[rate.depth - 1]
    iterations = rate.period * loop.inner_trip_count
    box = ChunkBox(move, loop.nest, iterations, count)
    _restrict_access(access.instruction, buffer, box)
    place = items.index(block.items[chunked.insertion_position])
    before, after = items[:place], items[place:]
    items[:] = [
        *_drop_move_and_waits(before, move),
        chunks,
        *_drop_move_and_waits(after, move),
    ]
    return chunks


def _cost_of_chunk(
    move_cost: MoveCost, chunked: ChunkedMove[ScheduleTileAccess]
) -> tuple[MoveCost, LoopCounter]:
    """Return the cost of a chunk, and the counter of chunks that it depends on."""
    axis, size = chunked.chunking.axis, chunked.chunking.size
    variable = LoopCounter(0, size, chunked.chunking.rate.chunk_count)
    starts = [AffineSum(each) for each in chunked.start]
    starts[axis] += AffineSum.of_symbol(variable)
    source, destination = (
        MoveSide(
            side.view,
            tuple(map(add, side.offsets, starts)),
        )
        for side in (move_cost.source, move_cost.destination)
    )
    shape = (*chunked.shape[:axis], size, *chunked.shape[axis + 1 :])
    cost = MoveCost(
        move_cost.costs,
        move_cost.engine,
        source,
        destination,
        shape,
        chunked.is_clipped,
    )
    return cost, variable


def _drop_move_and_waits(items: Sequence[Item], move: Instruction) -> Iterator[Item]:
    """Yield the items without a move, and without waits for only this move."""
    for item in items:
        if isinstance(item, Instruction) and move in item.completed_moves:
            item.completed_moves = tuple(
                each for each in item.completed_moves if each is not move
            )
            if not item.completed_moves:
                continue
        if item is not move:
            yield item


def _restrict_access(instruction: Instruction, buffer: Buffer, chunk: ChunkBox) -> None:
    """Mark all accesses to `buffer` by an instruction, in place, as within a chunk."""
    instruction.reads, instruction.writes = (
        tuple(
            replace(each, disjoint_box=chunk) if each.buffer is buffer else each
            for each in accesses
        )
        for accesses in (instruction.reads, instruction.writes)
    )
