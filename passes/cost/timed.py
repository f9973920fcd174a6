"""Plans for groups, by the time that they take."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from typing import ClassVar

from xdsl.ir import Operation

from tlf.dialects import graph, tile
from tlf.dialects.target import Level, Target
from tlf.dialects.tile import Mapping
from tlf.passes.cost.estimator import Estimate
from tlf.passes.cost.freedom import ANYTHING, Freedom
from tlf.passes.cost.in_flight import InFlight
from tlf.passes.cost.nearest import STAGES, Machinery, NearestSearch
from tlf.passes.cost.nests import Nesting
from tlf.passes.cost.outer import OuterModel
from tlf.passes.cost.outer_search import OuterSearch
from tlf.passes.cost.program import cycles_of
from tlf.passes.cost.structure import Structures
from tlf.passes.cost.traffic import Movements
from tlf.passes.nests.systems import loops_of
from tlf.passes.tiling.group import Members
from tlf.passes.tiling.model import GroupTiling


def is_timed(target: Target) -> bool:
    """Whether there is a model of how long a target takes."""
    engines = {"matrix", "vector"}
    return target.backend == "npu" and engines <= set(target.engines)


class TimedTiles:
    """
    Finds plans for one memory level of an NPU; groups of one structure have one plan.
    """

    prices_cascades: ClassVar = False

    def __init__(
        self, target: Target, level: Level, freedom: Freedom = ANYTHING
    ) -> None:
        self.target = target
        self.level = level
        self.freedom = freedom
        self.is_nearest = level is next(iter(target.levels.values()))
        self.machinery = Machinery(target, level)
        if not self.is_nearest:
            self.outer = OuterModel(target, level)
            self.nesting = Nesting(target)
        self._structures = Structures()
        self._known: dict[Hashable, graph.PlanAttr | None] = {}

    @staticmethod
    def of(
        target: Target, level: Level, freedom: Freedom = ANYTHING
    ) -> TimedTiles | None:
        """A finder for a level, or None where there is no model of the target."""
        return TimedTiles(target, level, freedom) if is_timed(target) else None

    def plan(self, members: Members) -> graph.PlanAttr | None:
        """The fastest plan, or None where none of those tried fits."""
        structure = self._structures.of(members.operations, members.results)
        key = structure, _executions(members.root)
        if key not in self._known:
            find = self._nearest if self.is_nearest else self._outer
            self._known[key] = find(members)
        return self._known[key]

    def estimate(
        self, members: Members, tiling: GroupTiling, stages: int = 1
    ) -> Estimate:
        """What a group costs by itself, by the model of the level."""
        if not self.is_nearest:
            tiled = self.outer.tiled(tiling, self.nesting.of(members))
            cost = tiled.cost(stages, tiled.footprint(stages))
            return Estimate(cost.cycles, cost.bytes)
        items = self.machinery.program(tiling, InFlight(stages, stages))
        moved = Movements(tiling, self.machinery.moves)
        traffic = sum(
            moved.into(value, box).bytes for value, box in tiling.inputs()
        ) + sum(
            moved.back(value, box).bytes
            for value, box in zip(tiling.results, tiling.pieces, strict=True)
        )
        return Estimate(cycles_of(items, self.machinery.costs), traffic)

    def _nearest(self, members: Members) -> graph.PlanAttr | None:
        axes = self.freedom.cut(members.axes(self.machinery.rules))
        stages = self.freedom.counts(STAGES)
        often = _executions(members.root)
        search = NearestSearch(members, axes, self.level, self.machinery, often, stages)
        if (choice := search.best()) is None:
            return None
        return graph.PlanAttr(
            self.level.name,
            choice.tile,
            choice.reduce,
            Mapping.CORE if self.target.cores > 1 else Mapping.LOOP,
            stages=choice.stages.tiles,
            pieces=choice.stages.pieces,
        )

    def _outer(self, members: Members) -> graph.PlanAttr | None:
        nests = self.nesting.of(members)
        search = OuterSearch(
            members, nests, self.outer, self.level.capacity, freedom=self.freedom
        )
        best = search.best()
        return None if best is None else best.attribute(self.level.name)


def _executions(op: Operation) -> int:
    """How often loops around run an operation; one of unknown trips counts once."""
    count, around = 1, op.parent_op()
    while around is not None:
        if isinstance(around, tile.WhileOp):
            count *= prod(loop.trips or 1 for loop in loops_of(around))
        around = around.parent_op()
    return count
