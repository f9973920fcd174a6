"""
Placing buffers with lifetimes in one memory: arithmetic without IR.

A buffer has bytes, spans of time, an alignment, and maybe a place that it shares with
others. `pack` looks for the lowest peak, `places` for any placement within a capacity,
`apart` puts buffers side by side.
"""

from tlf.support.allocation.bounds import live_bytes
from tlf.support.allocation.buffer import (
    ALIGNMENT,
    Buffer,
    Placement,
    Span,
    align,
    arc,
    pipelined,
)
from tlf.support.allocation.check import faults
from tlf.support.allocation.fault import Fault
from tlf.support.allocation.hazards import Use, engine_stage, hazards
from tlf.support.allocation.placing import placed
from tlf.support.allocation.planner import apart, lower_bound_of, pack, places
from tlf.support.allocation.ranks import ranked
from tlf.support.allocation.restarts import Budget
from tlf.support.allocation.settling import settled
from tlf.support.allocation.widening import Loops, widened

__all__ = [
    "ALIGNMENT",
    "Budget",
    "Buffer",
    "Fault",
    "Loops",
    "Placement",
    "Span",
    "Use",
    "align",
    "apart",
    "arc",
    "engine_stage",
    "faults",
    "hazards",
    "live_bytes",
    "lower_bound_of",
    "pack",
    "pipelined",
    "placed",
    "places",
    "ranked",
    "settled",
    "widened",
]
