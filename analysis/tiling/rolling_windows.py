"""
Analysis of rolling windows: overlaps of tiles of consecutive iterations, and the halo
policy.

Source: the sliding-window schedules of depth-first convolution, as in Mei et al.,
DeFiNES (HPCA 2023), "H-cached": overlapping rows are kept, not recomputed.
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
    """
    Policy for the overlaps of consecutive tiles of a group: kept in rolling windows, or
    recomputed or reloaded.
    """

    axis: int
    """Index among the tile sizes of the axis along which tiles roll."""
    recomputed_values: frozenset[SSAValue] = frozenset()
    """Values whose overlaps are recomputed or reloaded."""
    has_prefetch: bool = False
    """True if the values of windows are computed one iteration ahead."""


def rolling_window_of(
    box: Box, loop: TileLoop, is_prefetched: bool = False
) -> RollingWindow | None:
    """
    Return the rolling window of a tile along a loop; None if tiles of consecutive
    iterations do not overlap, move backwards, or move along several axes. If it
    `is_prefetched`, each iteration computes the new part of the next one.
    """
    moving: tuple[int, int] | None = None
    for position, each in enumerate(box):
        for symbol, coefficient in each.offset.terms:
            if symbol is loop:
                if moving is not None:
                    return None
                moving = position, coefficient
    if moving is None:
        return None
    axis, factor = moving
    interval, step = box[axis], factor * loop.tile
    shared = interval.size - step
    if step <= 0 or shared <= 0:
        return None
    available = interval.size if is_prefetched else shared
    new_part = [*box]
    new_part[axis] = Interval(interval.offset + available, step)
    prologue = [*box]
    prologue[axis] = replace(interval, size=available)
    return RollingWindow(
        axis,
        box,
        tuple(new_part),
        _box_in_first_iteration(tuple(prologue), loop),
        is_prefetched=is_prefetched,
    )


def common_padding_value_of(
    padding_values: Iterable[Scalar | None],
) -> tuple[Scalar | None, bool]:
    """
    Return the padding value that all readers of a window need, and `True` if they
    agree.
    """
    fills = {fill for fill in padding_values if fill is not None}
    return next(iter(fills), None), len(fills) <= 1


def _box_in_first_iteration(box: Box, loop: TileLoop) -> Box:
    """Return a copy of a box with the induction variable of `loop` replaced by 0."""
    first: dict[Hashable, AffineSum] = {loop: AffineSum()}
    return tuple(
        replace(interval, offset=interval.offset.substitute(first)) for interval in box
    )
