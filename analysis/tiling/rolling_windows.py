"""
Rolling windows: tile overlaps of consecutive iterations, and the halo policy.

Source: the sliding-window schedules of depth-first convolution, as in Mei et al.,
DeFiNES (HPCA 2023), "H-cached": overlapping rows are kept, not computed again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.dialects.interfaces import Scalar
from tlf.support.affine.index_access import AffineSum, Box, Interval


@dataclass(frozen=True)
class RollingPolicy:
    """The halo policy of a group."""

    axis: int
    """The place among the tile sizes of the axis along which tiles roll."""
    recomputed_values: frozenset[SSAValue] = frozenset()
    """The values whose overlaps are computed, or read, again."""
    has_prefetch: bool = False
    """True if the values of windows are computed an iteration ahead."""


def rolling_window_of(
    box: Box, loop: TileLoop, leads: bool = False
) -> RollingWindow | None:
    """
    Return the rolling window of a tile along a loop; None if tiles of consecutive
    iterations share nothing, go backwards, or more than one axis moves. If it `leads`,
    each iteration makes the new part of the next one.
    """
    moving: tuple[int, int] | None = None
    for number, each in enumerate(box):
        for symbol, times in each.offset.terms:
            if symbol is loop:
                if moving is not None:
                    return None
                moving = number, times
    if moving is None:
        return None
    axis, factor = moving
    interval, step = box[axis], factor * loop.tile
    shared = interval.size - step
    if step <= 0 or shared <= 0:
        return None
    there = interval.size if leads else shared
    fresh = [*box]
    fresh[axis] = Interval(interval.offset + there, step)
    kept = [*box]
    kept[axis] = replace(interval, size=there)
    return RollingWindow(
        axis, box, tuple(fresh), _box_at_start(tuple(kept), loop), is_prefetched=leads
    )


def common_fill_of(borders: Iterable[Scalar | None]) -> tuple[Scalar | None, bool]:
    """
    Return the value that all readers of a window need outside of the tensor, and
    whether they agree.
    """
    wanted = {border for border in borders if border is not None}
    return next(iter(wanted), None), len(wanted) <= 1


def _box_at_start(box: Box, loop: TileLoop) -> Box:
    """A box in the first iteration of a loop."""
    first: dict[Hashable, AffineSum] = {loop: AffineSum()}
    return tuple(
        replace(interval, offset=interval.offset.substitute(first)) for interval in box
    )
