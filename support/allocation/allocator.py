"""
Allocate the buffers of a program: side by side if they fit, else with few hazards.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlf.support.allocation.buffer import Allocation, Buffer
from tlf.support.allocation.hazard_placement import place_by_hazards
from tlf.support.allocation.hazards import Use
from tlf.support.allocation.lifetime_extension import extend_lifetimes
from tlf.support.allocation.lifetime_ranks import rank_lifetimes
from tlf.support.allocation.packing import pack, pack_side_by_side
from tlf.support.allocation.search_restarts import Budget

EXTENDED_VISITS = 20_000
"""The visits of a plan in which buffers live longer than they have to."""


def allocate_program(
    buffers: Sequence[Buffer],
    capacity: int,
    uses: Sequence[Use] | None = None,
    *,
    share: bool = False,
) -> Allocation:
    """
    Allocate buffers side by side, or sharing bytes where they would not fit. The peak
    is above the capacity if no placement was found.
    """
    if share:
        return pack(rank_lifetimes(buffers), Budget())
    placement = pack_side_by_side(buffers)
    if placement.peak <= capacity:
        return placement
    if uses is None:
        return pack(rank_lifetimes(buffers), Budget(), capacity)
    wide = extend_lifetimes(buffers, [each.loops for each in uses], capacity)
    if found := place_by_hazards(wide, uses, capacity):
        return found
    placement = pack(rank_lifetimes(wide), Budget(EXTENDED_VISITS), capacity)
    if placement.peak <= capacity:
        return placement
    found = place_by_hazards(buffers, uses, capacity)
    return found or pack(rank_lifetimes(buffers), Budget(), capacity)
