"""
Schedule of a GPU kernel: how programs run their tiles. Its fields are the dimensions of
the search for plans besides the tile sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tlf.dialects import graph


@dataclass(frozen=True)
class KernelSchedule:
    """Schedule of the programs of a kernel."""

    stages: int = 1
    """Iterations of the reduction loop in flight."""
    warps: int | None = None
    """Number of warps of a program; `None` if it follows from the tile sizes."""
    unroll: tuple[int, ...] = ()
    """Number of alternating tiles per program, by parallel axis; empty if all 1."""

    @staticmethod
    def of_plan(plan: graph.PlanAttr) -> KernelSchedule:
        """Return the schedule of a plan."""
        return KernelSchedule(plan.stage_count, plan.warp_count, plan.unroll_factors)


DEFAULT_SCHEDULE = KernelSchedule()
