"""Choose tile sizes that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.dialects import graph, tile
from tlf.dialects.prepared import is_preparation
from tlf.dialects.target import Level, Target
from tlf.dialects.target.levels import level_named
from tlf.planner.context import evaluator_of, memo_of
from tlf.planner.cost.npu.timed import TimedTiles
from tlf.planner.estimator import Estimator
from tlf.planner.estimators import estimator_of
from tlf.planner.freedom import Freedom
from tlf.planner.partition.tile_refinement import (
    STEPS,
    TRIES,
    TileRefinement,
    families_of,
)
from tlf.planner.tiles.largest import Chooser, Sizes


def _is_prepared(group: graph.GroupOp) -> bool:
    """Return `True` if a group is part of the computation before a call."""
    around = group.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        around = around.parent_op()
    return around is not None and is_preparation(around)


STRATEGIES = ("fastest", "largest")


@dataclass(frozen=True)
class GraphSelectTileSizesPass(ModulePass):
    """
    Give every group without a plan tiles that fit into a memory level.

    For an NPU the fastest are chosen, and how many iterations are in flight: in the
    nearest memory, where its engines work, by the event model of its simulator, in
    others by a formula, and whether tiles roll. For a GPU the cheapest kernel by a
    roofline with waves is. Elsewhere, starting from whole axes, the axis is halved that
    saves most, until the tiles of all values fit at once. An axis along which a
    reduction of the group would have to be computed again is never cut.
    """

    name = "graph-select-tile-sizes"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    strategy: str = "fastest"
    """`fastest`, where the target's time is known, or `largest`."""

    tile: tuple[int, ...] = ()
    """Tile sizes to use as they are, one for each parallel axis."""

    reduce: tuple[int, ...] = ()
    """Reduction sizes to use as they are, one for each reduction axis."""

    stages: int | None = None
    """
    Number of iterations of loops over tiles that may be in flight at once, where the
    smallest tiles of so many fit. Unless given, as many as pay, or 1 where times are
    not known.
    """

    sliding_window: bool = True
    """True if tiles may keep their overlap with the next one."""

    axes: tuple[int, ...] | None = None
    """The axes that tiles may cut, of the first result of a group; all unless given."""

    max_evaluations: int | None = None
    """
    Maximum number of programs evaluated by trial lowering, to choose among tiles near
    the engines that take about as long by themselves; only small ones unless given.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        level = level_named(target, self.level)
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {known}, got {self.strategy}"
            )
        estimator = None
        if self.strategy == "fastest":
            estimator = estimator_of(target, level, self._freedom, memo_of(ctx))
        planned = self.choose(op, target, level, estimator)
        if isinstance(estimator, TimedTiles) and estimator.is_nearest:
            self._refine(ctx, op, planned, estimator)

    def _refine(
        self,
        context: Context,
        op: ModuleOp,
        planned: Sequence[graph.GroupOp],
        timed: TimedTiles,
    ) -> None:
        """Choose among the fastest plans of groups by what the program takes."""
        evaluator = evaluator_of(context, timed.target, STEPS)
        if evaluator is None or self.max_evaluations == 0:
            return

        def plans_of(group: graph.GroupOp) -> Sequence[graph.PlanAttr]:
            return timed.plans(members_of_group(group))

        groups = [each for each in planned if not _is_prepared(each)]
        families = families_of(groups, plans_of)
        tries = TRIES if self.max_evaluations is None else self.max_evaluations
        TileRefinement(op, evaluator, tries).apply(families)

    def choose(
        self, op: ModuleOp, target: Target, level: Level, estimator: Estimator | None
    ) -> list[graph.GroupOp]:
        """
        Give groups without a plan the best that is known, or else one that fits. Return
        those that got what is known.
        """
        known: list[graph.GroupOp] = []
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is not None:
                continue
            members = members_of_group(group)
            plan = None
            if estimator is not None and not self.tile:
                plan = estimator.plan(members)
            if plan is not None:
                known.append(group)
            group.plan = plan or self._plan(group, level, target)
        return known

    @property
    def _freedom(self) -> Freedom:
        return Freedom(self.sliding_window, self.stages, self.axes)

    def _plan(
        self, group: graph.GroupOp, level: Level, target: Target
    ) -> graph.PlanAttr:
        rules = rules_of(target, level.name)
        members = members_of_group(group)
        sizes, stages = Sizes(self.tile, self.reduce), self.stages or 1
        if not self.tile:
            axes = self._freedom.cut(members.axes(rules))
            chooser = Chooser(members, axes, level, target, rules, stages)
            stages = chooser.most_stages()
            sizes = replace(chooser, stages=stages).choose()
        is_grid = level.kind == "value" and group.parent_op() is not None
        mapping = tile.Mapping.GRID if is_grid else tile.Mapping.LOOP
        return graph.PlanAttr(
            level.name, sizes.tile, sizes.reduce, mapping, stages=stages
        )
