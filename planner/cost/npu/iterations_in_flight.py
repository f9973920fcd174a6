"""Cost model of NPU loops: numbers of iterations of a tiled group in flight."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tlf.analysis.tiling.group_tiling import GroupTiling


class IterationsInFlight(NamedTuple):
    """Numbers of overlapping iterations: one is loaded while others are computed."""

    tiles: int = 1
    """Iterations of the loops over tiles."""
    reduce_stages: int = 1
    """Iterations of the loops over reduction tiles, for each tile."""


SINGLE = IterationsInFlight()
"""No overlap."""


def outer_iterations_in_flight(tiling: GroupTiling, stages: int) -> IterationsInFlight:
    """
    Return the iterations in flight at an outer level: `stages` reduction tiles of one
    tile, or `stages` tiles if reductions are whole.
    """
    return (
        IterationsInFlight(1, stages)
        if tiling.inner_loops
        else IterationsInFlight(stages, stages)
    )


def limit_reduce_stages(
    tiling: GroupTiling, in_flight: IterationsInFlight
) -> IterationsInFlight:
    """
    Return the iterations in flight with no more reduce stages than reduction tiles: the
    programs of both are equal.
    """
    trips = prod(loop.trips for loop in tiling.inner_loops.values())
    return in_flight._replace(reduce_stages=min(in_flight.reduce_stages, trips))
