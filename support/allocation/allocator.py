"""
Allocate the buffers of a program, without IR: side by side if they fit, else with few
hazards.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlf.support.allocation.buffer_model import Allocation, Buffer
from tlf.support.allocation.hazard_placement import place_by_hazards
from tlf.support.allocation.hazards import BufferUse
from tlf.support.allocation.lifetime_extension import extend_lifetimes
from tlf.support.allocation.lifetime_ranks import renumber_lifetime_steps
from tlf.support.allocation.packing import pack_side_by_side, pack_to_lowest_peak
from tlf.support.allocation.search_restarts import VisitBudget

EXTENDED_VISITS = 20_000
"""Visit budget of a plan with extended lifetimes."""


def allocate_program_buffers(
    buffers: Sequence[Buffer],
    capacity: int,
    uses: Sequence[BufferUse] | None = None,
    *,
    share: bool = False,
) -> Allocation:
    """
    Allocate buffers side by side, or with shared bytes if they do not fit. The peak
    exceeds the capacity if no placement was found.
    """
    if share:
        return pack_to_lowest_peak(renumber_lifetime_steps(buffers), VisitBudget())
    placement = pack_side_by_side(buffers)
    if placement.peak <= capacity:
        return placement
    if uses is None:
        return pack_to_lowest_peak(
            renumber_lifetime_steps(buffers), VisitBudget(), capacity
        )
    extended = extend_lifetimes(buffers, [each.loops for each in uses], capacity)
    if allocation := place_by_hazards(extended, uses, capacity):
        return allocation
    placement = pack_to_lowest_peak(
        renumber_lifetime_steps(extended), VisitBudget(EXTENDED_VISITS), capacity
    )
    if placement.peak <= capacity:
        return placement
    allocation = place_by_hazards(buffers, uses, capacity)
    return allocation or pack_to_lowest_peak(
        renumber_lifetime_steps(buffers), VisitBudget(), capacity
    )
