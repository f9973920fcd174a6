"""Number of iterations of the loops of a group in flight."""

from __future__ import annotations

from typing import NamedTuple

from tlf.analysis.tiling.model import GroupTiling


class InFlight(NamedTuple):
    """Iterations that overlap: one is loaded for while others are computed."""

    tiles: int = 1
    """Of the loops over tiles."""
    pieces: int = 1
    """Of the loops over the pieces of a reduction, for each tile."""


SINGLE = InFlight()
"""Nothing overlaps."""


def in_flight(tiling: GroupTiling, stages: int) -> InFlight:
    """
    So many iterations at an outer level: pieces of a reduction, one tile after the
    other, or tiles where reductions are whole.
    """
    return InFlight(1, stages) if tiling.inner_loops else InFlight(stages, stages)
