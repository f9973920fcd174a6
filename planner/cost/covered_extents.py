"""
Cost model of tile extents, without IR: number of indices of an axis covered by an
interval over all loop iterations.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.support.affine.index_access import Interval


def covered_index_count(interval: Interval, extent: int) -> int:
    """Return how many indices of an axis an interval covers over all iterations."""
    first, size = interval.offset.constant, interval.size
    if not interval.offset.terms:
        return count_indices_in_bounds(first, size, extent)
    steps = [
        (loop.trips, factor * loop.tile)
        for loop, factor in interval.offset.terms
        if isinstance(loop, TileLoop)
    ]
    if not steps:
        return count_indices_in_bounds(first, size, extent)
    if len(steps) > 1:
        return min(size, extent) * prod(trips for trips, _ in steps)
    ((trips, step),) = steps
    return _count_covered_indices(first, size, step, trips, extent)


@lru_cache(maxsize=1 << 14)
def _count_covered_indices(
    first_index: int, size: int, step: int, trips: int, extent: int
) -> int:
    """Return the number of indices covered by `trips` intervals `step` apart."""
    starts = (
        range(first_index, first_index + trips * step, step)
        if step
        else [first_index] * trips
    )
    return sum(count_indices_in_bounds(start, size, extent) for start in starts)


def count_indices_in_bounds(start: int, size: int, extent: int) -> int:
    """Return the number of indices of `[first, first + size)` within `[0, extent)`."""
    return max(0, min(start + size, extent) - max(start, 0))
