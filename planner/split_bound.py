"""
Lower bound on the time of a group whose reductions run in parallel parts, without IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SplitBound:
    """Time of a group in cycles, by what a split of its reductions can save."""

    fixed_cycles: float
    """Cycles of any group, however little it computes."""
    divided_cycles: float
    """Cycles that parts share, of the group as a whole with its best tiles."""
    busy_cycles: float
    """Minimum cycles of these with all processors busy."""

    def max_cycles_saved(self, part_count: int) -> float:
        """
        Return the most cycles that the group can save in `part_count` parts, each of
        which takes at least its share. Products of factors with unaligned rows may save
        more, as smaller tiles of them may need no loop.
        """
        return max(0.0, self.divided_cycles - self.least_cycles_in_parts(part_count))

    def least_cycles_in_parts(self, part_count: int) -> float:
        """Return the minimum of the divided cycles in `part_count` parts."""
        return max(self.busy_cycles, self.divided_cycles / part_count)


def extra_cycles_of_partial_results(
    bounds: Sequence[SplitBound], part_count: int, moving_cycles: float
) -> float:
    """
    Return the minimum cycles that groups in `part_count` parts take longer because of
    their partial results, which move in `moving_cycles`: these kernels store them while
    they compute, and another one, which combines them, waits for its loads.
    """
    least = sum(each.least_cycles_in_parts(part_count) for each in bounds)
    return max(0.0, moving_cycles - least) + moving_cycles
