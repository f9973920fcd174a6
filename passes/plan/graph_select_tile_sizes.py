"""
Pass `graph-select-tile-sizes`: gives every group without a plan tile sizes that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects import graph, tile
from tlf.dialects.prepack import is_preparation
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.planner.context import evaluator_of, memo_of
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.estimator import Estimator
from tlf.planner.estimator_selection import estimator_of
from tlf.planner.partition.tile_refinement import (
    MAX_EVALUATIONS,
    MAX_INSTRUCTIONS,
    TileRefinement,
    families_of,
)
from tlf.planner.search_space import SearchSpace
from tlf.planner.tile_sizes.largest_tiles import TileSizes, TileSizeSelector


def _is_in_preparation(group: graph.GroupOp) -> bool:
    """Return `True` if a group is in the function that prepares weights."""
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
        target = TargetSpec.of(op)
        level = find_tile_level(target, self.level)
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {known}, got {self.strategy}"
            )
        estimator = None
        if self.strategy == "fastest":
            estimator = estimator_of(target, level, self._search_space, memo_of(ctx))
        planned = self.select_plans(op, target, level, estimator)
        if isinstance(estimator, NpuEstimator) and estimator.is_nearest:
            self._refine_plans(ctx, op, planned, estimator)

    def _refine_plans(
        self,
        context: Context,
        op: ModuleOp,
        planned: Sequence[graph.GroupOp],
        timed: NpuEstimator,
    ) -> None:
        """Select among the fastest plans of groups by evaluating the whole program."""
        evaluator = evaluator_of(context, timed.target, MAX_INSTRUCTIONS)
        if evaluator is None or self.max_evaluations == 0:
            return

        def plans_of(group: graph.GroupOp) -> Sequence[graph.PlanAttr]:
            return timed.find_plans(members_of_group_op(group))

        groups = [each for each in planned if not _is_in_preparation(each)]
        families = families_of(groups, plans_of)
        tries = (
            MAX_EVALUATIONS if self.max_evaluations is None else self.max_evaluations
        )
        TileRefinement(op, evaluator, tries).refine_families(families)

    def select_plans(
        self,
        op: ModuleOp,
        target: TargetSpec,
        level: Level,
        estimator: Estimator | None,
    ) -> list[graph.GroupOp]:
        """
        Give groups without a plan the best one by the estimator, or else one that fits.
        Return those that got what is known.
        """
        known: list[graph.GroupOp] = []
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is not None:
                continue
            members = members_of_group_op(group)
            plan = None
            if estimator is not None and not self.tile:
                plan = estimator.find_plan(members)
            if plan is not None:
                known.append(group)
            group.plan = plan or self._fitting_plan(group, level, target)
        return known

    @property
    def _search_space(self) -> SearchSpace:
        return SearchSpace(self.sliding_window, self.stages, self.axes)

    def _fitting_plan(
        self, group: graph.GroupOp, level: Level, target: TargetSpec
    ) -> graph.PlanAttr:
        rules = tile_rules_of(target, level.name)
        members = members_of_group_op(group)
        sizes, stages = TileSizes(self.tile, self.reduce), self.stages or 1
        if not self.tile:
            axes = self._search_space.restrict_axes(members.tileable_axes(rules))
            chooser = TileSizeSelector(members, axes, level, target, rules, stages)
            stages = chooser.max_stages()
            sizes = replace(chooser, stages=stages).select_sizes()
        is_grid = level.kind == "value" and group.parent_op() is not None
        mapping = tile.Mapping.GRID if is_grid else tile.Mapping.LOOP
        return graph.PlanAttr(
            level.name, sizes.tile, sizes.reduce, mapping, stages=stages
        )
