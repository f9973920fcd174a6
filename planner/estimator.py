"""Interface of the cost models that estimate a group's cycles on a target."""

from __future__ import annotations

from typing import Protocol

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects import graph


class Estimator(Protocol):
    """Tells what groups cost whose tiles are brought to one level of memory."""

    @property
    def can_estimate_cascades(self) -> bool:
        """True if the model has a price for several reductions in one loop."""
        ...

    def find_plan(self, members: GroupMembers) -> graph.PlanAttr | None:
        """The plan of least cost, or None where none of those tried fits."""
        ...

    def estimate_cycles(self, members: GroupMembers) -> int | None:
        """About the cycles of a group by itself with its best tiles, if it has some."""
        ...
