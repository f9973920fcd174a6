"""
Static memory allocation without IR: offsets of buffers with lifetimes.

A buffer has a size, live ranges, an alignment, and optionally an enclosing buffer.
`pack` minimizes the peak, `pack_within_capacity` finds any placement within a capacity,
`pack_side_by_side` shares no bytes.
"""

from tlf.support.allocation.allocation_fault import AllocationFault
from tlf.support.allocation.allocator import allocate_program_buffers
from tlf.support.allocation.buffer_model import (
    ALIGNMENT,
    Allocation,
    Buffer,
    LiveSpan,
    align_offset,
    copies_for_unrolled_loop,
    wrap_lifetime,
)
from tlf.support.allocation.hazard_placement import place_by_hazards
from tlf.support.allocation.hazards import (
    BufferUse,
    find_hazards,
    pipeline_stage_of_engine,
)
from tlf.support.allocation.lifetime_extension import Loops, extend_lifetimes
from tlf.support.allocation.lifetime_ranks import renumber_lifetime_steps
from tlf.support.allocation.live_intervals import (
    LiveBytes,
    LiveInterval,
    peak_live_bytes,
)
from tlf.support.allocation.load_hoisting import LoadHoisting
from tlf.support.allocation.offset_check import find_offset_faults
from tlf.support.allocation.packing import (
    pack_side_by_side,
    pack_to_lowest_peak,
    pack_within_capacity,
    peak_lower_bound,
)
from tlf.support.allocation.peak_bounds import max_live_bytes
from tlf.support.allocation.search_restarts import VisitBudget

__all__ = [
    "ALIGNMENT",
    "Allocation",
    "AllocationFault",
    "Buffer",
    "BufferUse",
    "LiveBytes",
    "LiveInterval",
    "LiveSpan",
    "LoadHoisting",
    "Loops",
    "VisitBudget",
    "align_offset",
    "allocate_program_buffers",
    "copies_for_unrolled_loop",
    "extend_lifetimes",
    "find_hazards",
    "find_offset_faults",
    "max_live_bytes",
    "pack_side_by_side",
    "pack_to_lowest_peak",
    "pack_within_capacity",
    "peak_live_bytes",
    "peak_lower_bound",
    "pipeline_stage_of_engine",
    "place_by_hazards",
    "renumber_lifetime_steps",
    "wrap_lifetime",
]
