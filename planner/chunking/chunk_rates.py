"""
Rates at which loops consume the chunks of a load, or produce the chunks of a store.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol


class TileAccess(Protocol):
    """
    Access of a move in loops, tile by tile, to a buffer that another move fills or
    drains as a whole.
    """

    @property
    def box_shape(self) -> Sequence[int]:
        """Shape of a tile."""
        ...

    @property
    def trip_counts(self) -> Sequence[int | None]:
        """Trip counts of the loops, outermost first; None if unknown."""
        ...

    def view_offset(self, axis: int) -> int | None:
        """
        Return the offset along an axis of the view that the other move accesses from
        the view that this move accesses; None if it is unknown.
        """
        ...

    def offsets_in_loop(self, loop_index: int, axis: int) -> Sequence[int] | None:
        """
        Return the offset of the tile in its view in each iteration of a loop; None if
        it depends on anything else.
        """
        ...


@dataclass(frozen=True)
class ChunkRate:
    """Use of chunks: one for every `period` iterations of a loop."""

    depth: int
    """Number of loops around these iterations, including their own."""
    period: int
    chunk_count: int


def consume_rate_of(
    access: TileAccess, axis: int, chunk_starts: Sequence[int]
) -> ChunkRate | None:
    """
    Return the rate at which loops read chunks that begin at `chunk_starts` in the view
    that the load fills. None if the loops must wait for all chunks first.
    """
    shift, found = access.view_offset(axis), _offsets_in_first_loop(access, axis)
    if shift is None or found is None:
        return None
    loop_index, offsets = found
    starts = [start + shift for start in chunk_starts]
    period = consume_period_of(offsets, access.box_shape[axis], starts)
    return None if period is None else ChunkRate(loop_index + 1, period, len(starts))


def produce_rate_of(
    access: TileAccess, axis: int, chunk_starts: Sequence[int]
) -> ChunkRate | None:
    """
    Return the rate at which loops write chunks that begin at `chunk_starts` in the view
    that is stored. None if the first chunk must wait for the whole buffer.
    """
    found = _offsets_in_first_loop(access, axis)
    if access.view_offset(axis) != 0 or found is None:
        return None
    loop_index, offsets = found
    if any(trips != 1 for trips in access.trip_counts[:loop_index]):
        return None
    period = produce_period_of(offsets, access.box_shape[axis], chunk_starts)
    if period is None:
        return None
    return ChunkRate(loop_index + 1, period, len(chunk_starts))


def _offsets_in_first_loop(
    access: TileAccess, axis: int
) -> tuple[int, Sequence[int]] | None:
    """
    Return the index of the outermost loop whose iterations determine the offset of the
    tile along an axis, and the offsets; None if no loop does, or a trip count up to it
    is 0 or unknown.
    """
    for loop_index, trips in enumerate(access.trip_counts):
        if not trips:
            return None
        if (offsets := access.offsets_in_loop(loop_index, axis)) is not None:
            return loop_index, offsets
    return None


def consume_period_of(
    starts: Sequence[int], size: int, chunks: Sequence[int]
) -> int | None:
    """
    Return the number of iterations that a loop may run per chunk after the first chunk
    has arrived. Iteration `i` reads `size` elements from `starts[i]` along the axis, on
    which chunks begin at the elements `chunks` and arrive in order. None if even one
    iteration per chunk is too many.
    """
    if list(chunks) != sorted(set(chunks)) or len(chunks) < 2:
        return None
    last_chunks = [bisect_left(chunks, start + size) - 1 for start in starts]
    period = (len(starts) - 1) // (len(chunks) - 1)
    for chunk in range(1, len(chunks)):
        iterations = (
            i for i, last_chunk in enumerate(last_chunks) if last_chunk >= chunk
        )
        period = min(period, next(iterations, len(starts)) // chunk)
    return period or None


def produce_period_of(
    starts: Sequence[int], size: int, chunks: Sequence[int]
) -> int | None:
    """
    Return the number of iterations that a loop must run per written chunk, except the
    last, until the chunk is complete. Iteration `i` writes `size` elements from
    `starts[i]` along the axis of the chunks. None if no iterations remain for the last
    chunk.
    """
    if list(chunks) != sorted(set(chunks)) or len(chunks) < 2:
        return None
    period = 1
    for chunk_count, (low, high) in enumerate(pairwise(chunks), 1):
        writers = [
            i for i, start in enumerate(starts) if start < high and start + size > low
        ]
        period = max(period, -(-(max(writers, default=-1) + 1) // chunk_count))
    return period if period * (len(chunks) - 1) < len(starts) else None
