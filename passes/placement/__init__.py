"""
Placing buffers with lifetimes in one memory: arithmetic without IR.

A buffer has bytes, spans of time, an alignment, and maybe a place that it shares with
others. `pack` looks for the lowest peak, `places` for any placement within a capacity,
`apart` puts buffers side by side.
"""

from tlf.passes.placement.bounds import live_bytes
from tlf.passes.placement.buffer import (
    ALIGNMENT,
    Buffer,
    Placement,
    Span,
    align,
    arc,
    pipelined,
)
from tlf.passes.placement.check import faults
from tlf.passes.placement.fault import Fault
from tlf.passes.placement.hazards import Use, engine_stage, hazards
from tlf.passes.placement.placing import placed
from tlf.passes.placement.planner import apart, lower_bound_of, pack, places
from tlf.passes.placement.ranks import ranked
from tlf.passes.placement.restarts import Budget
from tlf.passes.placement.settling import settled
from tlf.passes.placement.widening import Loops, widened

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
