"""
Static memory allocation without IR: offsets of buffers with lifetimes.

A buffer has a size, live ranges, an alignment, and optionally an enclosing buffer.
`pack` minimizes the peak, `pack_within` finds any placement within a capacity,
`pack_side_by_side` shares no bytes.
"""

from tlf.support.allocation.allocation_fault import Fault
from tlf.support.allocation.allocator import allocate_program
from tlf.support.allocation.buffer import (
    ALIGNMENT,
    Allocation,
    Buffer,
    Span,
    align,
    expand_modulo,
    wrap_lifetime,
)
from tlf.support.allocation.hazard_placement import place_by_hazards
from tlf.support.allocation.hazards import Use, engine_stage, find_hazards
from tlf.support.allocation.lifetime_extension import Loops, extend_lifetimes
from tlf.support.allocation.lifetime_ranks import rank_lifetimes
from tlf.support.allocation.live_intervals import (
    LiveBytes,
    LiveInterval,
    peak_live_bytes,
)
from tlf.support.allocation.load_hoisting import LoadHoisting
from tlf.support.allocation.offset_check import find_faults
from tlf.support.allocation.packing import (
    pack,
    pack_side_by_side,
    pack_within,
    peak_lower_bound,
)
from tlf.support.allocation.peak_bounds import max_live_bytes
from tlf.support.allocation.search_restarts import Budget

__all__ = [
    "ALIGNMENT",
    "Allocation",
    "Budget",
    "Buffer",
    "Fault",
    "LiveBytes",
    "LiveInterval",
    "LoadHoisting",
    "Loops",
    "Span",
    "Use",
    "align",
    "allocate_program",
    "engine_stage",
    "expand_modulo",
    "extend_lifetimes",
    "find_faults",
    "find_hazards",
    "max_live_bytes",
    "pack",
    "pack_side_by_side",
    "pack_within",
    "peak_live_bytes",
    "peak_lower_bound",
    "place_by_hazards",
    "rank_lifetimes",
    "wrap_lifetime",
]
