"""
Operand reuse: the number of distinct tiles that concurrent programs read.

Programs are numbered along the axes of the grid, the last axis fastest. Consecutive
programs cover the last axis first, then the axis before it, and so on. With groups,
each step of the last axis covers `swizzled_programs` steps of the second-to-last axis.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


@dataclass(frozen=True)
class ProgramGrid:
    """Axes of a grid of programs, outermost first."""

    loops: Sequence[TileLoop]
    is_grouped: bool = False
    """True if programs of the last two axes run in groups."""

    @property
    def programs(self) -> int:
        """Number of programs."""
        count = 1
        for loop in self.loops:
            count *= loop.trips
        return count

    def count_distinct_tiles(self, running: int, loops: Collection[TileLoop]) -> float:
        """Return the average number of distinct tiles that concurrent programs read."""
        remaining, distinct = float(min(running, self.programs)), 1.0
        for loop, count in self._steps_along_axes():
            covered = min(float(count), max(1.0, remaining))
            remaining /= count
            if loop in loops:
                distinct *= covered
        return distinct

    def _steps_along_axes(self) -> Sequence[tuple[TileLoop, float]]:
        """Return the number of steps along each axis, fastest axis first."""
        backwards = [(loop, float(loop.trips)) for loop in reversed(self.loops)]
        if not self.is_grouped or len(backwards) < 2:
            return backwards
        columns, (rows, count), *others = backwards
        group = min(float(TRITON_CALIBRATION.swizzled_programs), count)
        return [(rows, group), columns, (rows, count / group), *others]
