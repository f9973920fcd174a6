"""
Decision on chunked loads: the loads that loops consume chunk by chunk, their chunks,
and the place of the chunks.
"""

from __future__ import annotations

from operator import add, sub

from tlf.dialects.target import Level
from tlf.planner.chunking.block_facts import AccessT, BlockFacts
from tlf.planner.chunking.chunk_rates import ChunkRate, consume_rate_of
from tlf.planner.chunking.chunk_selection import ChunkedMove, select_chunking


def select_chunked_loads(
    block: BlockFacts[AccessT], outer_level: Level
) -> list[ChunkedMove[AccessT]]:
    """Return the loads of a block to split into chunks, in program order."""
    decisions = [
        _chunk_load(block, position, loop_position, outer_level)
        for loop_position in block.loop_positions
        for position in _positions_of_loads_before(block, loop_position, outer_level)
    ]
    return [each for each in decisions if each is not None]


def _chunk_load(
    block: BlockFacts[AccessT], position: int, loop_position: int, outer_level: Level
) -> ChunkedMove[AccessT] | None:
    """Return the chunks of a load before a loop; None to keep it whole."""
    load = block.move_at(position)
    if load is None or load.source.offsets is None or load.destination.offsets is None:
        return None
    if (access := _find_only_reader(block, position, loop_position)) is None:
        return None
    # Elements before the start of the source are moved only if they are filled.
    start = tuple(
        0 if load.is_filled else max(0, -each) for each in load.source.offsets
    )
    shape = tuple(map(sub, load.box_shape, start))
    first_elements = tuple(map(add, load.destination.offsets, start))

    def rate_of(axis: int, starts: range) -> ChunkRate | None:
        return consume_rate_of(
            access, axis, [first_elements[axis] + each for each in starts]
        )

    source = load.source.shift_address(start)
    chunking = select_chunking(source, shape, outer_level, rate_of)
    if chunking is None:
        return None
    axis, extent = chunking.axis, shape[chunking.axis]
    reaches_end = first_elements[axis] + extent >= load.destination.view_shape[axis]
    # Elements behind the load would be overwritten.
    if extent % chunking.size and not reaches_end:
        return None
    place = _position_of_chunks(block, position, loop_position)
    return ChunkedMove(position, place, start, shape, chunking, access)


def _positions_of_loads_before(
    block: BlockFacts[AccessT], loop_position: int, outer_level: Level
) -> list[int]:
    """
    Return the positions of the loads before a loop, without computation in between, in
    program order.
    """
    found: list[int] = []
    for position in range(loop_position - 1, -1, -1):
        if (move := block.move_at(position)) is None:
            if not block.is_passive_at(position):
                break
        elif move.destination.level == outer_level.name:
            break
        elif move.source.level == outer_level.name:
            found.append(position)
    return found[::-1]


def _find_only_reader(
    block: BlockFacts[AccessT], load_position: int, loop_position: int
) -> AccessT | None:
    """
    Return the access of the only move in a loop that reads what a load fills, if all
    other uses are after the loop and the load is awaited before the loop; else None.
    """
    users = block.other_users(load_position, is_load=True)
    inside = [user for user in users if user.position == loop_position]
    others = [user.position for user in users if user.position != loop_position]
    if len(inside) != 1 or any(at is None or at < loop_position for at in others):
        return None
    waits = block.wait_positions_of(load_position)
    is_awaited = all(at is not None and at < loop_position for at in waits)
    return inside[0].access if is_awaited else None


def _position_of_chunks(
    block: BlockFacts[AccessT], load_position: int, loop_position: int
) -> int:
    """
    Return the position to insert chunks at: after other loads that the loop needs,
    before loads for later operations.
    """
    needed = set(block.buffers_at(loop_position))
    moves = [
        (position, move)
        for position in range(load_position + 1, loop_position)
        if (move := block.move_at(position)) is not None
    ]
    for _, move in reversed(moves):
        if move.destination.buffer in needed:
            needed.add(move.source.buffer)
    later = (at for at, move in moves if move.destination.buffer not in needed)
    return next(later, loop_position)
