"""Offsets modulo the bus burst at which the moves of a loop start."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.support.affine.index_access import Box

MOST = 8
"""Of more phases than this, so many are taken that lie evenly apart."""


def burst_phases_of(box: Box, strides: Sequence[int], burst: int) -> tuple[int, ...]:
    """
    The addresses modulo the burst, in bytes, at which a box of a tensor starts in the
    iterations of its loops, each about as often; `strides` are those of the tensor, by
    axis, which itself starts at a burst.
    """
    start, steps = 0, dict[TileLoop, int]()
    for interval, stride in zip(box, strides, strict=True):
        start += interval.offset.constant * stride
        for symbol, factor in interval.offset.terms:
            if isinstance(symbol, TileLoop):
                step = factor * symbol.tile * stride
                steps[symbol] = steps.get(symbol, 0) + step
    found = {start % burst}
    for loop, step in steps.items():
        count = min(loop.trips, burst // gcd(step, burst))
        found = {(each + n * step) % burst for each in found for n in range(count)}
    ordered = sorted(found)
    return tuple(ordered[:: -(-len(ordered) // MOST)])
