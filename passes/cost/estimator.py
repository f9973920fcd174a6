"""What models of the time of groups have in common, whatever the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from tlf.dialects import graph
from tlf.passes.tiling.group import Members
from tlf.passes.tiling.model import GroupTiling


@dataclass(frozen=True)
class Estimate:
    """What a group costs that runs by itself."""

    cycles: int
    bytes: int
    """Of the next farther memory, both ways."""


class Estimator(Protocol):
    """Tells what groups cost whose tiles are brought to one level of memory."""

    prices_cascades: ClassVar[bool]
    """Whether it knows what several reductions in one loop cost."""

    def plan(self, members: Members) -> graph.PlanAttr | None:
        """The plan of least cost, or None where none of those tried fits."""
        ...

    def estimate(
        self, members: Members, tiling: GroupTiling, stages: int = 1
    ) -> Estimate:
        """What a group costs that is tiled like this, with so many tiles in flight."""
        ...
