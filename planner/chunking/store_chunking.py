"""
Decision on chunked stores: the stores whose chunks loops produce one by one, and their
chunks.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlf.dialects.target import Level
from tlf.planner.chunking.block_facts import AccessT, BlockFacts, MoveFacts
from tlf.planner.chunking.chunk_rates import ChunkRate, produce_rate_of
from tlf.planner.chunking.chunk_selection import ChunkedMove, select_chunking


def select_chunked_stores(
    block: BlockFacts[AccessT], outer_level: Level
) -> list[ChunkedMove[AccessT]]:
    """Return the stores of a block to split into chunks, in program order."""
    decisions = [
        _chunk_store(block, position, store, loop_position, outer_level)
        for loop_position in block.loop_positions
        for position, store in _stores_of_buffers_after(
            block, loop_position, outer_level
        )
    ]
    return [each for each in decisions if each is not None]


def _chunk_store(
    block: BlockFacts[AccessT],
    position: int,
    store: MoveFacts,
    loop_position: int,
    outer_level: Level,
) -> ChunkedMove[AccessT] | None:
    """Return the chunks of a store after a loop; None to keep it whole."""
    if (access := _find_only_writer(block, position, loop_position)) is None:
        return None

    def rate_of(axis: int, starts: range) -> ChunkRate | None:
        return produce_rate_of(access, axis, starts)

    chunking = select_chunking(store.destination, store.box_shape, outer_level, rate_of)
    if chunking is None:
        return None
    start = (0,) * len(store.box_shape)
    is_partial = store.box_shape[chunking.axis] % chunking.size > 0
    return ChunkedMove(
        position, position, start, store.box_shape, chunking, access, is_partial
    )


def _stores_of_buffers_after(
    block: BlockFacts[AccessT], loop_position: int, outer_level: Level
) -> Iterator[tuple[int, MoveFacts]]:
    """
    Yield the stores of whole buffers after a loop, without computation in between, and
    their positions.
    """
    for position in range(loop_position + 1, block.length):
        if (move := block.move_at(position)) is None:
            if not block.is_passive_at(position):
                return
        elif move.destination.level != outer_level.name:
            return
        elif _reads_whole_view(move):
            yield position, move


def _reads_whole_view(store: MoveFacts) -> bool:
    offsets, shape = store.source.offsets, store.source.view_shape
    return offsets is not None and not any(offsets) and shape == store.box_shape


def _find_only_writer(
    block: BlockFacts[AccessT], store_position: int, loop_position: int
) -> AccessT | None:
    """
    Return the access of the move that fills a stored buffer, if it is the only other
    use, it is in a loop, and the store is awaited in its block; else None.
    """
    users = block.other_users(store_position, is_load=False)
    if [user.position for user in users] != [loop_position]:
        return None
    is_awaited = None not in block.wait_positions_of(store_position)
    return users[0].access if is_awaited else None
