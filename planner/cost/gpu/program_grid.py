"""Launch grid of the programs of a GPU kernel, without IR."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


@dataclass(frozen=True)
class ProgramGrid:
    """
    Launch grid of a kernel's programs: one axis per tile loop, outermost first.

    Programs are numbered along the axes, the last axis fastest. Consecutive programs
    cover the last axis first, then the axis before it, and so on. With groups, each
    step of the last axis covers `swizzled_programs` steps of the second-to-last axis.
    """

    loops: Sequence[TileLoop]
    is_swizzled: bool = False
    """True if programs of the last two axes run in groups."""

    @property
    def program_count(self) -> int:
        """Number of programs."""
        count = 1
        for loop in self.loops:
            count *= loop.trips
        return count

    def count_distinct_tiles(
        self, concurrent_programs: int, loops: Collection[TileLoop]
    ) -> float:
        """Return the average number of distinct tiles that concurrent programs read."""
        remaining, distinct = float(min(concurrent_programs, self.program_count)), 1.0
        for loop, count in self._step_counts_along_axes():
            covered = min(float(count), max(1.0, remaining))
            remaining /= count
            if loop in loops:
                distinct *= covered
        return distinct

    def _step_counts_along_axes(self) -> Sequence[tuple[TileLoop, float]]:
        """Return the number of steps along each axis, fastest axis first."""
        backwards = [(loop, float(loop.trips)) for loop in reversed(self.loops)]
        if not self.is_swizzled or len(backwards) < 2:
            return backwards
        columns, (rows, count), *others = backwards
        group = min(float(TRITON_CALIBRATION.swizzled_programs), count)
        return [(rows, group), columns, (rows, count / group), *others]
