"""Placement of the buffers of a program: side by side, or else with few hazards."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.support.allocation.buffer import Buffer, Placement
from tlf.support.allocation.hazards import Use
from tlf.support.allocation.planner import apart, pack
from tlf.support.allocation.ranks import ranked
from tlf.support.allocation.restarts import Budget
from tlf.support.allocation.settling import settled
from tlf.support.allocation.widening import widened

WIDE = 20_000
"""The visits of a plan in which buffers live longer than they have to."""


def placed(
    buffers: Sequence[Buffer],
    capacity: int,
    uses: Sequence[Use] | None = None,
    *,
    share: bool = False,
) -> Placement:
    """
    Place buffers side by side, or where they would not fit, or are to `share`, so that
    they share bytes: first only with those of other loops, of the ones around their
    `uses`, and where engines seldom wait for that. The peak is above the capacity if no
    placement was found.
    """
    if share:
        return pack(ranked(buffers), Budget())
    placement = apart(buffers)
    if placement.peak <= capacity:
        return placement
    if uses is None:
        return pack(ranked(buffers), Budget(), capacity)
    wide = widened(buffers, [each.loops for each in uses], capacity)
    if found := settled(wide, uses, capacity):
        return found
    placement = pack(ranked(wide), Budget(WIDE), capacity)
    if placement.peak <= capacity:
        return placement
    found = settled(buffers, uses, capacity)
    return found or pack(ranked(buffers), Budget(), capacity)
