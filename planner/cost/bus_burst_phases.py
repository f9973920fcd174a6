"""
Cost model of bus bursts, without IR: offsets of a loop's accesses modulo the burst.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.planner.settings.search_budgets import TILE_SEARCH
from tlf.support.affine.index_access import Box


def burst_phases_of(box: Box, strides: Sequence[int], burst: int) -> tuple[int, ...]:
    """
    Return the offsets modulo the burst, in bytes, at which a box of a tensor starts in
    the iterations of its loops; each occurs about equally often. `strides` are the byte
    strides of the tensor by axis; the tensor itself starts at a burst.
    """
    start, steps = 0, dict[TileLoop, int]()
    for interval, stride in zip(box, strides, strict=True):
        start += interval.offset.constant * stride
        for symbol, factor in interval.offset.terms:
            if isinstance(symbol, TileLoop):
                step = factor * symbol.tile * stride
                steps[symbol] = steps.get(symbol, 0) + step
    phases = {start % burst}
    for loop, step in steps.items():
        count = min(loop.trips, burst // gcd(step, burst))
        phases = {(phase + n * step) % burst for phase in phases for n in range(count)}
    ordered = sorted(phases)
    return tuple(ordered[:: -(-len(ordered) // TILE_SEARCH.max_burst_phases)])
