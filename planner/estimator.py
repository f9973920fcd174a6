"""Common interface of the models of the time of groups, whatever the target."""

from __future__ import annotations

from typing import Protocol

from tlf.analysis.tiling.group import Members
from tlf.dialects import graph


class Estimator(Protocol):
    """Tells what groups cost whose tiles are brought to one level of memory."""

    @property
    def prices_cascades(self) -> bool:
        """True if the model has a price for several reductions in one loop."""
        ...

    def plan(self, members: Members) -> graph.PlanAttr | None:
        """The plan of least cost, or None where none of those tried fits."""
        ...

    def fastest(self, members: Members) -> int | None:
        """About the cycles of a group by itself with its best tiles, if it has some."""
        ...
