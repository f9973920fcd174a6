"""
Cost model of the first cache of a GPU's processor, which serves the repeated reads of
windows that overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tlf.planner.cost.gpu.access_totals import AccessTotals
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


@dataclass(frozen=True)
class RepeatedRead:
    """Elements that one program reads, some of them repeatedly."""

    footprint: float
    """Bytes of the distinct elements."""
    row_bytes: int
    """Contiguous bytes of these elements in memory."""
    sectors_per_byte: float
    """Bytes in the sectors of the elements, divided by their own."""
    lines_per_byte: float
    """Bytes of the lines that a warp accesses at once, divided by those it loads."""
    iterations: int
    """Number of iterations of the loops that read them."""

    @property
    def is_served(self) -> bool:
        """True if the first cache retains the elements."""
        return self.footprint <= TRITON_CALIBRATION.first_cache_bytes

    def limit_accesses(
        self, totals: AccessTotals, program_count: float, sector_bytes: int
    ) -> AccessTotals:
        """Return the accesses of all programs without the requests it serves."""
        sectors = self.sectors_per_byte
        rows = totals.payload / max(sector_bytes, self.row_bytes)
        return replace(
            totals,
            bus_bytes=min(totals.bus_bytes, totals.payload * sectors),
            cache_bytes=min(totals.bus_bytes, self.footprint * sectors * program_count),
            row_count=min(totals.row_count, rows),
            lane_steps=self._limit_lane_steps(totals),
            line_bytes=totals.payload * self.lines_per_byte,
        )

    def _limit_lane_steps(self, totals: AccessTotals) -> float:
        """
        Return the lane steps for addresses and masks, most of which are computed once
        for all iterations of an unrolled loop.
        """
        if not 1 < self.iterations <= TRITON_CALIBRATION.max_unrolled_iterations:
            return totals.lane_steps
        steps = TRITON_CALIBRATION.unrolled_window_steps * totals.access_count
        return min(totals.lane_steps, steps)
