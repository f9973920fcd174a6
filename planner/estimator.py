"""
Cost model interface of the planner: estimated cycles and best tile plan of a group on a
target.
"""

from __future__ import annotations

from math import inf
from typing import Protocol

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects import graph
from tlf.planner.split_bound import SplitBound


class Estimator(Protocol):
    """Cost model of groups whose tiles are loaded to one memory level."""

    @property
    def can_estimate_cascades(self) -> bool:
        """True if the model supports several reductions in one loop."""
        ...

    def find_plan(self, members: GroupMembers) -> graph.PlanAttr | None:
        """Return the plan of least cost, or None if no candidate fits."""
        ...

    def estimate_cycles(self, members: GroupMembers, limit: float = inf) -> int | None:
        """
        Return an estimate of the cycles of a group by itself with its best tiles, or
        None if it has none. Tiles that are not the best, with more cycles than `limit`,
        may be returned where the best ones are unlikely to take as few.
        """
        ...

    def find_split_bound(self, members: GroupMembers) -> SplitBound | None:
        """
        Return a bound on what a group saves if its reductions run in parallel parts, or
        None if the model has none.
        """
        ...
