"""Number of iterations of a group's loops that are in flight at once."""

from __future__ import annotations

from typing import NamedTuple

from tlf.analysis.tiling.group_tiling import GroupTiling


class IterationsInFlight(NamedTuple):
    """Iterations that overlap: one is loaded for while others are computed."""

    tiles: int = 1
    """Of the loops over tiles."""
    reduce_stages: int = 1
    """Of the loops over the pieces of a reduction, for each tile."""


SINGLE = IterationsInFlight()
"""Nothing overlaps."""


def iterations_in_flight(tiling: GroupTiling, stages: int) -> IterationsInFlight:
    """
    So many iterations at an outer level: pieces of a reduction, one tile after the
    other, or tiles where reductions are whole.
    """
    return (
        IterationsInFlight(1, stages)
        if tiling.inner_loops
        else IterationsInFlight(stages, stages)
    )
