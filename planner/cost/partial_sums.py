"""
Decision how a loop nest that accumulates a long sum is split into partial sums, without
IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.planner.settings.summation_bounds import SUMMATION


@dataclass(frozen=True)
class PartialSums:
    """Split of the iterations of one loop of a nest into partial sums."""

    depth: int
    """Position of the loop in the nest, from the outermost one."""
    iterations: int
    """Iterations of the loop that each partial sum takes, but for the last one."""


def select_partial_sums(
    trip_counts: Sequence[int], additions_per_iteration: int
) -> PartialSums | None:
    """
    Return the partial sums of a loop nest, outermost loop first, so that an accumulator
    is added to at most `max_sequential_additions` times; None if it is anyway. A single
    iteration is not split.
    """
    each = additions_per_iteration
    for depth in reversed(range(len(trip_counts))):
        trips = trip_counts[depth]
        if trips > 1 and each * trips > SUMMATION.max_sequential_additions:
            return PartialSums(depth, _iterations_per_part(trips, each))
        each *= trips
    return None


def _iterations_per_part(trips: int, additions: int) -> int:
    """
    Return the iterations of a partial sum: the largest divisor of all iterations, if
    that at most doubles the number of partial sums, or else equal parts.
    """
    most = max(1, SUMMATION.max_sequential_additions // additions)
    divisors = (n for n in range(most, most // 2, -1) if trips % n == 0)
    parts = -(-trips // most)
    return next(divisors, -(-trips // parts))
