"""
Lower bound on the time of a group whose reductions run in parallel parts, without IR.
"""

from __future__ import annotations

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
        """Return the most cycles that the group can save in `part_count` parts."""
        least = max(self.busy_cycles, self.divided_cycles / part_count)
        return max(0.0, self.divided_cycles - least)
