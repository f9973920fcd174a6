"""
Helper of the cost models: number of indices of an axis covered by an interval over all
loop iterations.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.support.affine.index_access import Interval


def covered_extent(interval: Interval, extent: int) -> int:
    """Return how many indices of an axis an interval covers over all iterations."""
    first, size = interval.offset.constant, interval.size
    steps = [
        (loop.trips, factor * loop.tile)
        for loop, factor in interval.offset.terms
        if isinstance(loop, TileLoop)
    ]
    if not steps:
        return clip_extent(first, size, extent)
    if len(steps) > 1:
        return min(size, extent) * prod(trips for trips, _ in steps)
    ((trips, step),) = steps
    return _count_covered(first, size, step, trips, extent)


@lru_cache(maxsize=1 << 14)
def _count_covered(first: int, size: int, step: int, trips: int, extent: int) -> int:
    """Return the number of indices covered by `trips` intervals `step` apart."""
    starts = range(first, first + trips * step, step) if step else [first] * trips
    return sum(clip_extent(start, size, extent) for start in starts)


def clip_extent(first: int, size: int, extent: int) -> int:
    """Return the number of indices of `[first, first + size)` within `[0, extent)`."""
    return max(0, min(first + size, extent) - max(first, 0))
