"""Chunking of whole-buffer moves along one axis, so that users can start early."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import gcd, prod
from typing import Generic, Protocol, TypeVar

from tlf.dialects.target import Level

CHUNK_COUNTS = (8, 4, 2)
"""Candidate numbers of chunks per move, largest first."""


class ChunkRate(Protocol):
    """Rate at which chunks are consumed or produced."""

    @property
    def depth(self) -> int:
        """Number of loops around it."""
        ...


RateT = TypeVar("RateT", bound=ChunkRate)


@dataclass(frozen=True)
class Chunking(Generic[RateT]):
    """Chunks of `size` elements along an axis, and the rate at which they are used."""

    axis: int
    size: int
    rate: RateT


def select_chunking(
    shape: Sequence[int],
    steps: Sequence[int],
    item: int,
    start: int,
    far: Level,
    pace_of: Callable[[int, range], RateT | None],
) -> Chunking[RateT] | None:
    """
    Return how to cut a move of a whole buffer from or to a level into chunks; None to
    leave it whole. The axes of the buffer take `steps` bytes in the level, and it
    begins at a multiple of `start` bytes. `pace_of` returns the pace for an axis and
    the first elements of the chunks, or None if chunks gain nothing over the whole. A
    move that takes no longer than the latency of the level is not cut.
    """
    if item * prod(shape) < far.latency * far.bandwidth:
        return None
    best: Chunking[RateT] | None = None
    for count, (axis, extent) in product(CHUNK_COUNTS, enumerate(shape)):
        size = chunk_size(shape, steps, start, axis, far.burst, count)
        found = pace_of(axis, range(0, extent, size)) if size < extent else None
        # The fewer loops around, the more is done for each chunk.
        if found and (best is None or found.depth < best.rate.depth):
            best = Chunking(axis, size, found)
    return best


def chunk_size(
    shape: Sequence[int],
    steps: Sequence[int],
    start: int,
    axis: int,
    burst: int,
    count: int,
) -> int:
    """
    The elements of so many chunks at most along an axis of a shape whose axes take
    `steps` bytes and that begins at a multiple of `start` bytes, so that no row of two
    shares a burst: all of them where that leaves no cut.
    """
    extent, step = shape[axis], steps[axis]
    around = [
        each
        for size, each in zip(shape, steps, strict=True)
        if each > step and size > 1
    ]
    if around and any(each % burst for each in (start, *around)):
        return extent
    unit = burst // gcd(burst, step) if around else 1
    units = -(-extent // unit)
    return min(extent, unit * -(-units // count))


def consume_period_of(
    starts: Sequence[int], size: int, chunks: Sequence[int]
) -> int | None:
    """
    Return the number of iterations that a loop may run per chunk, once the first one
    has arrived. Each iteration reads `size` elements from its entry of `starts` on,
    along the axis on which chunks begin at some elements and arrive in order. None if
    even one iteration per chunk is too many.
    """
    if list(chunks) != sorted(set(chunks)) or len(chunks) < 2:
        return None
    needed = [bisect_left(chunks, start + size) - 1 for start in starts]
    found = (len(starts) - 1) // (len(chunks) - 1)
    for number in range(1, len(chunks)):
        first = (at for at, last in enumerate(needed) if last >= number)
        found = min(found, next(first, len(starts)) // number)
    return found or None


def produce_period_of(
    starts: Sequence[int], size: int, chunks: Sequence[int]
) -> int | None:
    """
    Return the number of iterations that a loop has to run per chunk that it writes,
    except the last, before the chunk is complete. Each iteration writes `size` elements
    from its entry of `starts` on, along the axis of the chunks. None if that is all of
    them long before the last chunk.
    """
    if list(chunks) != sorted(set(chunks)) or len(chunks) < 2:
        return None
    found = 1
    for number, (low, high) in enumerate(pairwise(chunks), 1):
        makers = [
            at for at, start in enumerate(starts) if start < high and start + size > low
        ]
        found = max(found, -(-(max(makers, default=-1) + 1) // number))
    return found if found * (len(chunks) - 1) < len(starts) else None
