"""
Cost model interface of the planner: estimated cycles and best tile plan of a group on a
target.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Protocol

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects import graph
from tlf.dialects.interfaces import AccumulatingInterface
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

    def min_cycles_to_move_results(
        self, reductions: Sequence[AccumulatingInterface]
    ) -> float:
        """
        Return the minimum cycles in which partial results of reductions, each as large
        as the result, are stored, or loaded; 0 if unknown, or if a group may take less
        time that computes all parts and combines them itself.
        """
        ...

    def min_cycles_of_two_groups(self, members: GroupMembers) -> float | None:
        """
        Return a lower bound on the cycles of operations in two or more groups; None if
        the model has none.
        """
        ...

    def find_split_bound(self, members: GroupMembers) -> SplitBound | None:
        """
        Return a bound on what a group saves if its reductions run in parallel parts, or
        None if the model has none.
        """
        ...
