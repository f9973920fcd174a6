"""
Pass `graph-select-tile-sizes`: selects tile sizes for groups without a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects import graph, tile
from tlf.dialects.graph.remark_attribute import enclosing_function
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.planner.context import Memo, evaluator_of, memo_of
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.estimator import Estimator
from tlf.planner.estimator_selection import select_estimator
from tlf.planner.partition.tile_refinement import (
    RestrictedPlans,
    TileRefinement,
    group_families_of,
)
from tlf.planner.restricted_targets import targets_with_half_a_resource
from tlf.planner.search_space import SearchSpace
from tlf.planner.settings.search_budgets import REFINEMENT
from tlf.planner.tile_sizes.largest_tiles import TileSizes, TileSizeSelector
from tlf.support.progress import report_iterations


def _is_in_weight_preparation(group: graph.GroupOp) -> bool:
    """Return `True` if a group is in a function that prepares weights."""
    function = enclosing_function(group)
    return function is not None and is_preparation_function(function)


STRATEGIES = ("fastest", "largest")


@dataclass(frozen=True)
class GraphSelectTileSizesPass(ModulePass):
    """
    Select tile sizes that fit into a memory level for every group without a plan.

    For an NPU, the fastest tile sizes and number of iterations in flight are selected:
    in the innermost level by the event model of its simulator; in outer levels by an
    analytical cost model, which also selects sliding windows. For a GPU, the cheapest
    kernel by a roofline model with waves is selected. Otherwise, starting from whole
    axes, the axis that saves the most bytes is halved until the tiles of all values
    fit. Axes along which a reduction of the group would be recomputed are not tiled.
    """

    name = "graph-select-tile-sizes"

    level: str | None = None
    """Memory level of the tiles; the outermost tile level by default."""

    strategy: str = "fastest"
    """`fastest`, if the target has a cost model, or `largest`."""

    tile: tuple[int, ...] = ()
    """Tile sizes to use, one for each parallel axis; selected if empty."""

    reduce: tuple[int, ...] = ()
    """Reduction tile sizes to use with `tile`, one for each reduction axis."""

    stages: int | None = None
    """
    Maximum number of iterations in flight, if the smallest tiles of this number of
    iterations fit. By default selected by the cost model, or 1 without a cost model.
    """

    sliding_window: bool = True
    """True if elements that consecutive tiles share may remain in a sliding window."""

    axes: tuple[int, ...] | None = None
    """Axes of the first result of a group that may be tiled; all by default."""

    max_evaluations: int | None = None
    """
    Maximum number of programs that are evaluated to select among innermost tile sizes
    with similar estimates; by default only for small programs.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        level = find_tile_level(target, self.level)
        if self.strategy not in STRATEGIES:
            allowed = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {allowed}, got {self.strategy}"
            )
        estimator = None
        if self.strategy == "fastest":
            estimator = select_estimator(
                target, level, self._search_space, memo_of(ctx)
            )
        estimated_groups = self.select_plans_of_groups(op, target, level, estimator)
        if isinstance(estimator, NpuEstimator) and estimator.is_nearest:
            self._select_plans_by_evaluation(ctx, op, estimated_groups, estimator)

    def _select_plans_by_evaluation(
        self,
        context: Context,
        op: ModuleOp,
        planned_groups: Sequence[graph.GroupOp],
        npu_estimator: NpuEstimator,
    ) -> None:
        """Select among the fastest plans of groups by evaluating the whole program."""
        evaluator = evaluator_of(
            context, npu_estimator.target, REFINEMENT.tile_instructions
        )
        if evaluator is None or self.max_evaluations == 0:
            return

        def plans_of(group: graph.GroupOp) -> Sequence[graph.PlanAttr]:
            return npu_estimator.find_plans(members_of_group_op(group))

        groups = [
            each for each in planned_groups if not _is_in_weight_preparation(each)
        ]
        if not (families := group_families_of(groups, plans_of)):
            return
        evaluations = (
            REFINEMENT.tile_evaluations
            if self.max_evaluations is None
            else self.max_evaluations
        )
        refinement = TileRefinement(op, evaluator, evaluations)
        refinement.find_plans(families)
        restricted = self._plans_with_half_a_resource(
            npu_estimator.target, memo_of(context)
        )
        selected = refinement.compare_restricted_plans(families, restricted)
        for group, plan in selected.items():
            group.plan = plan

    def _plans_with_half_a_resource(
        self, target: TargetSpec, memo: Memo
    ) -> Sequence[RestrictedPlans]:
        """
        Return the plans that groups would have with half of a resource, so that more of
        it does not make programs slower.
        """
        innermost = next(iter(target.levels.values()))
        estimators = [
            NpuEstimator(
                each, next(iter(each.levels.values())), self._search_space, memo
            )
            for each in targets_with_half_a_resource(target, innermost)
        ]

        def plans_by(estimator: NpuEstimator) -> RestrictedPlans:
            return lambda group: estimator.find_plans(members_of_group_op(group))

        return [plans_by(each) for each in estimators]

    def select_plans_of_groups(
        self,
        op: ModuleOp,
        target: TargetSpec,
        level: Level,
        estimator: Estimator | None,
    ) -> list[graph.GroupOp]:
        """
        Set the plan of groups without a plan to the best one by the estimator, or else
        to one that fits. Return the groups with a plan of the estimator.
        """
        estimated: list[graph.GroupOp] = []
        groups = [each for each in op.walk() if isinstance(each, graph.GroupOp)]
        for group in report_iterations(groups):
            if group.plan is not None:
                continue
            members = members_of_group_op(group)
            plan = None
            if estimator is not None and not self.tile:
                plan = estimator.find_plan(members)
            if plan is not None:
                estimated.append(group)
            group.plan = plan or self._find_plan_that_fits(group, level, target)
        return estimated

    @property
    def _search_space(self) -> SearchSpace:
        return SearchSpace(self.sliding_window, self.stages, self.axes)

    def _find_plan_that_fits(
        self, group: graph.GroupOp, level: Level, target: TargetSpec
    ) -> graph.PlanAttr:
        """Return a plan with sizes `tile`, or with selected ones that fit `level`."""
        rules = tile_rules_of(target, level.name)
        members = members_of_group_op(group)
        sizes, stages = TileSizes(self.tile, self.reduce), self.stages or 1
        if not self.tile:
            axes = self._search_space.restrict_tileable_axes(
                members.tileable_axes(rules)
            )
            selector = TileSizeSelector(members, axes, level, target, rules, stages)
            stages = selector.max_stages_that_fit()
            sizes = replace(selector, stages=stages).select_sizes()
        is_grid = level.kind == "value" and group.parent_op() is not None
        mapping = tile.Mapping.GRID if is_grid else tile.Mapping.LOOP
        return graph.PlanAttr(
            level.name,
            sizes.parallel_sizes,
            sizes.reduction_sizes,
            mapping,
            stages=stages,
        )
