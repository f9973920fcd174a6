"""Plans for groups that are computed in the nearest memory, by the time they take."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from tlf.dialects import graph
from tlf.dialects.target import Level, Target
from tlf.passes.cost.nearest import Choice, Machinery, NearestSearch
from tlf.passes.cost.structure import structure_of
from tlf.passes.tiling.group import Members


@dataclass
class TimedTiles:
    """Finds plans for one memory level; groups of one structure have one plan."""

    level: Level
    machinery: Machinery
    known: dict[Hashable, Choice | None] = field(
        default_factory=dict[Hashable, "Choice | None"]
    )

    @staticmethod
    def of(target: Target, level: Level) -> TimedTiles | None:
        """A finder for the nearest level of an NPU; None for other levels."""
        nearest = next(iter(target.levels.values()))
        if target.backend != "npu" or level is not nearest or len(target.levels) < 2:
            return None
        if not {"matrix", "vector"} <= set(target.engines):
            return None
        return TimedTiles(level, Machinery(target, level))

    def plan(self, members: Members) -> graph.PlanAttr | None:
        """The fastest plan, or None where none of those tried fits."""
        if (choice := self.choice(members)) is None:
            return None
        return graph.PlanAttr(
            self.level.name, choice.tile, choice.reduce, stages=choice.stages
        )

    def choice(self, members: Members) -> Choice | None:
        """The fastest tiles."""
        key = structure_of(members.operations, members.results)
        if key not in self.known:
            axes = members.axes(self.machinery.rules)
            search = NearestSearch(members, axes, self.level, self.machinery)
            self.known[key] = search.best()
        return self.known[key]
