"""
Allocate the buffers of a program, without IR: side by side if they fit, else with few
hazards.
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
"""Visit budget of a plan with extended lifetimes."""


def allocate_program(
    buffers: Sequence[Buffer],
    capacity: int,
    uses: Sequence[Use] | None = None,
    *,
    share: bool = False,
) -> Allocation:
    """
    Allocate buffers side by side, or with shared bytes if they do not fit. The peak
    exceeds the capacity if no placement was found.
    """
    if share:
        return pack(rank_lifetimes(buffers), Budget())
    placement = pack_side_by_side(buffers)
    if placement.peak <= capacity:
        return placement
    if uses is None:
        return pack(rank_lifetimes(buffers), Budget(), capacity)
    extended = extend_lifetimes(buffers, [each.loops for each in uses], capacity)
    if allocation := place_by_hazards(extended, uses, capacity):
        return allocation
    placement = pack(rank_lifetimes(extended), Budget(EXTENDED_VISITS), capacity)
    if placement.peak <= capacity:
        return placement
    allocation = place_by_hazards(buffers, uses, capacity)
    return allocation or pack(rank_lifetimes(buffers), Budget(), capacity)
