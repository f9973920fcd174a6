"""The indices that intervals cover over all iterations."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from tlf.analysis.tiling.model import Loop
from tlf.support.affine.access import Interval


def covered_extent(interval: Interval, extent: int) -> int:
    """The indices of an axis that an interval holds, over all iterations together."""
    first, size = interval.offset.constant, interval.size
    steps = [
        (loop.trips, factor * loop.tile)
        for loop, factor in interval.offset.terms
        if isinstance(loop, Loop)
    ]
    if not steps:
        return clipped(first, size, extent)
    if len(steps) > 1:
        return min(size, extent) * prod(trips for trips, _ in steps)
    ((trips, step),) = steps
    return _covered(first, size, step, trips, extent)


@lru_cache(maxsize=1 << 14)
def _covered(first: int, size: int, step: int, trips: int, extent: int) -> int:
    """The indices of an axis in intervals that start `step` apart, over all trips."""
    starts = range(first, first + trips * step, step) if step else [first] * trips
    return sum(clipped(start, size, extent) for start in starts)


def clipped(first: int, size: int, extent: int) -> int:
    """
    Return the number of indices in `[first, first + size)` that an axis of `extent`
    has.
    """
    return max(0, min(first + size, extent) - max(first, 0))
