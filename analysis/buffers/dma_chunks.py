"""
Analysis without IR, on shapes and strides: chunks of whole-buffer moves along one axis,
so that users can start early.
"""

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
    """Protocol for the rate at which the chunks of a move are consumed or produced."""

    @property
    def depth(self) -> int:
        """Number of loops in which chunks are used."""
        ...


RateT = TypeVar("RateT", bound=ChunkRate)


@dataclass(frozen=True)
class Chunking(Generic[RateT]):
    """Chunks of `size` elements along an axis, and the rate at which they are used."""

    axis: int
    size: int
    rate: RateT


def select_chunking_of_move(
    shape: Sequence[int],
    byte_strides: Sequence[int],
    itemsize: int,
    address_multiple: int,
    outer_level: Level,
    chunk_rate_of: Callable[[int, range], RateT | None],
) -> Chunking[RateT] | None:
    """
    Return how to split a move of a whole buffer from or to an outer level into chunks;
    None to keep it whole. The axes of the buffer have strides of `byte_strides` bytes
    in the level, and its address is a multiple of `address_multiple` bytes.
    `chunk_rate_of` returns the chunk rate for an axis and the first elements of the
    chunks, or None if chunks have no benefit. A move that takes no longer than the
    latency of the level is not split.
    """
    if itemsize * prod(shape) < outer_level.latency * outer_level.bandwidth:
        return None
    best: Chunking[RateT] | None = None
    for count, (axis, extent) in product(CHUNK_COUNTS, enumerate(shape)):
        size = elements_per_chunk(
            shape, byte_strides, address_multiple, axis, outer_level.burst, count
        )
        rate = chunk_rate_of(axis, range(0, extent, size)) if size < extent else None
        # With fewer loops around, more work is done per chunk.
        if rate and (best is None or rate.depth < best.rate.depth):
            best = Chunking(axis, size, rate)
    return best


def elements_per_chunk(
    shape: Sequence[int],
    byte_strides: Sequence[int],
    address_multiple: int,
    axis: int,
    burst: int,
    max_chunks: int,
) -> int:
    """
    Return the number of elements per chunk along an axis, for at most `max_chunks`
    chunks such that no two rows of different chunks share a burst. The axes have
    strides of `byte_strides` bytes, and the address is a multiple of `address_multiple`
    bytes. Returns the whole extent if no split is possible.
    """
    extent, step = shape[axis], byte_strides[axis]
    outer_steps = [
        each
        for size, each in zip(shape, byte_strides, strict=True)
        if each > step and size > 1
    ]
    if outer_steps and any(each % burst for each in (address_multiple, *outer_steps)):
        return extent
    unit = burst // gcd(burst, step) if outer_steps else 1
    units = -(-extent // unit)
    return min(extent, unit * -(-units // max_chunks))


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
