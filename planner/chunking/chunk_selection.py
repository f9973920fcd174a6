"""Selection of the axis and the size of the chunks of one move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import Generic

from tlf.dialects.target import Level
from tlf.planner.chunking.block_facts import AccessT_co, BoxFacts
from tlf.planner.chunking.chunk_rates import ChunkRate

CHUNK_COUNTS = (8, 4, 2)
"""Candidate numbers of chunks per move, largest first."""


@dataclass(frozen=True)
class Chunking:
    """Chunks of `size` elements along an axis, and the rate at which they are used."""

    axis: int
    size: int
    rate: ChunkRate


@dataclass(frozen=True)
class ChunkedMove(Generic[AccessT_co]):
    """Decision to replace a move of a block by a loop over chunks."""

    position: int
    """Position of the move in the block."""
    insertion_position: int
    """Position of the operation that the loop over chunks is inserted before."""
    start: tuple[int, ...]
    """First element of the chunks in the box of the move."""
    shape: tuple[int, ...]
    """Shape of all chunks together."""
    chunking: Chunking
    access: AccessT_co
    """Access to the buffer by the loops that consume or produce the chunks."""
    is_clipped: bool = False
    """True if the last chunk is clipped to the bounds of the buffers."""


def select_chunking(
    box: BoxFacts,
    shape: Sequence[int],
    outer_level: Level,
    rate_of: Callable[[int, range], ChunkRate | None],
) -> Chunking | None:
    """
    Return the chunks of a move of a box from or to the outermost level; None to keep
    the move whole. `rate_of` returns the rate for an axis and the first elements of the
    chunks, or None if chunks have no benefit. A move that takes no longer than the
    latency of the level is not split.
    """
    if box.byte_strides is None:
        return None
    if box.item_bytes * prod(shape) < outer_level.latency * outer_level.bandwidth:
        return None
    best: Chunking | None = None
    multiple, burst = gcd(*box.address), outer_level.burst
    for count, (axis, extent) in product(CHUNK_COUNTS, enumerate(shape)):
        size = elements_per_chunk(
            shape, box.byte_strides, multiple, axis, burst, max_chunks=count
        )
        rate = rate_of(axis, range(0, extent, size)) if size < extent else None
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
