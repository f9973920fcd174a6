"""
Selection of the loops of a tiled reduction, and the number of their iterations over the
tiles of the loops around them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.contributing_iterations import (
    ContributingIterations,
    IterationRange,
    find_contributing_iterations,
)
from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop
from tlf.planner.settings.loop_splitting import LOOP_SPLITTING
from tlf.support.affine.affine_extrema import (
    Numbers,
    Term,
    evaluate_term,
    symbols_of_term,
)


@dataclass(frozen=True)
class TripCounts:
    """Iterations of a loop whose bounds depend on the loops around it."""

    mean: float
    greatest: int


@dataclass(frozen=True)
class ReductionTrips:
    """Iterations of a program's loops over a reduction."""

    whole: TripCounts
    """Iterations of all loops."""
    loop_count: int = 1
    """Number of loops in sequence."""
    mean_with_masks: float = 0.0
    """Mean number of iterations that compute masks."""
    mask_operations: frozenset[Operation] = frozenset()
    """Operations that the other iterations do not compute."""


def count_reduction_trips(tiling: GroupTiling) -> ReductionTrips:
    """Return the iterations of the anchor's loops, over all tiles of a group."""
    found = find_contributing_iterations(tiling)
    if found is None:
        count = prod(loop.trips for loop in tiling.inner_loops.values())
        return ReductionTrips(TripCounts(count, count))
    ranges = select_loop_ranges(found)
    whole = count_trips(found.whole, found.loop)
    plain = [part for part in ranges if part.conditions]
    without = sum(count_trips(part, found.loop).mean for part in plain)
    conditions = {value for part in plain for value in part.conditions}
    return ReductionTrips(
        whole,
        len(ranges),
        whole.mean - without,
        _find_mask_operations(tiling, conditions),
    )


def _find_mask_operations(
    tiling: GroupTiling, conditions: AbstractSet[SSAValue]
) -> frozenset[Operation]:
    """
    Return the operations that only compute conditions, or select elements by them.
    """
    selecting, computing = set[Operation](), set[Operation]()
    for op in reversed(tiling.tiles):
        users = {use.operation for result in op.results for use in result.uses}
        users &= tiling.tiles.keys()
        if not conditions.isdisjoint(op.operands):
            selecting.add(op)
        elif not conditions.isdisjoint(op.results) or (users and users <= computing):
            computing.add(op)
    return frozenset(selecting | computing)


def select_loop_ranges(found: ContributingIterations) -> Sequence[IterationRange]:
    """
    Return the ranges of iterations to build a loop for: the part without masks has its
    own loop if it is long enough, and if this does not add more loops than allowed.
    """
    ranges = list(found.split_ranges())
    if found.unmasked is None or len(ranges) == 1:
        return ranges
    saved = count_trips(found.unmasked, found.loop).mean
    is_long = saved >= LOOP_SPLITTING.min_unmasked_iterations
    is_allowed = len(ranges) <= LOOP_SPLITTING.max_loops
    return ranges if is_long and is_allowed else [found.whole]


def describe_trips(found: ContributingIterations) -> str:
    """Return a text on the mean number of iterations, for remarks."""
    loop = found.loop
    text = (
        f"a mask shows {count_trips(found.whole, loop).mean:.4g} of {loop.trips} "
        "tiles in the mean, so that the loop omits the others"
    )
    plain = [part for part in select_loop_ranges(found) if part.conditions]
    count = sum(count_trips(part, loop).mean for part in plain)
    return f"{text}, and computes {count:.4g} without the mask" if plain else text


def count_trips(part: IterationRange, loop: TileLoop) -> TripCounts:
    """Return the number of iterations, over all tiles of the loops around the loop."""
    values = _values_of_symbols([part.first, part.end])
    first, end = (evaluate_term(term, values) for term in (part.first, part.end))
    counts = np.maximum(0, -(-np.asarray(end - first) // loop.tile))
    return TripCounts(float(counts.mean()), int(counts.max()))


def _values_of_symbols(terms: Sequence[Term]) -> dict[Hashable, Numbers]:
    """
    Return all values of each induction variable, along one axis each, of at most
    `max_tiles` equally spaced ones.
    """
    symbols = sorted(
        {s for term in terms for s in symbols_of_term(term) if isinstance(s, TileLoop)},
        key=lambda loop: (loop.extent, loop.tile),
    )
    values: dict[Hashable, Numbers] = {}
    for axis, loop in enumerate(symbols):
        steps = min(loop.trips, LOOP_SPLITTING.max_tiles)
        starts = np.linspace(0, loop.trips - 1, steps).astype(np.int64) * loop.tile
        values[loop] = starts.reshape(-1, *[1] * (len(symbols) - axis - 1))
    return values
