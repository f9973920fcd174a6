"""
Pass `graph-partition`: fuses groups and selects the tensors resident between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.dialects.topological_order import (
    move_before_terminator,
    sort_topologically,
)
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.passes.plan.schedule_application import apply_schedule
from tlf.passes.plan.slice_fusion import fuse_slices_into_readers
from tlf.passes.remark_attributes import attach_remarks
from tlf.planner.context import Memo, evaluator_of, memo_of
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.fusion.remark_collector import RemarkCollector
from tlf.planner.layout.declared_layouts import values_of_any_layout
from tlf.planner.partition.block_problem import BlockProblem, partition_problems_of
from tlf.planner.partition.component_order_search import ComponentOrderSearch
from tlf.planner.partition.group_cost_model import GroupCosts, WorkLimitError
from tlf.planner.partition.restricted_schedules import (
    RestrictedSchedule,
    RestrictedScheduleSearch,
)
from tlf.planner.partition.schedule_refinement import (
    EvaluatedTimes,
    ScheduleRefinement,
    limit_evaluations,
)
from tlf.planner.restricted_targets import targets_with_half_a_resource
from tlf.planner.search_space import SearchSpace
from tlf.planner.settings.search_budgets import PARTITION, REFINEMENT, TILE_SEARCH
from tlf.support.partition import (
    STRATEGIES,
    Limits,
    NoScheduleError,
    Objective,
    Schedule,
    SearchResult,
    elements_of_mask,
    search_schedule,
)


@dataclass(frozen=True)
class GraphPartitionPass(ModulePass):
    """
    Fuse groups, and keep results resident between groups, where that is faster.

    The groups of a block are partitioned into an ordered sequence of sets that
    minimizes the time by the cost model of the level. A set need not be contiguous in
    the block. Results are retained in the level for groups that read them if that pays.
    Each set becomes one group with a plan. Programs for targets without a cost model,
    and groups with a plan, are not changed.
    """

    name = "graph-partition"

    level: str | None = None
    """Memory level of the tiles; the outermost tile level by default."""

    strategy: str = "dp"
    """Search strategy: `dp`, `beam`, `interval`, `greedy` or `unfused`."""

    max_group_size: int = 12
    """Maximum number of groups that may be fused into one."""

    max_contractions: int = 12
    """Maximum number of contractions in a group."""

    max_operations: int = PARTITION.max_merged_operations
    """Maximum number of operations in groups that may be fused into one."""

    max_states: int = 20_000
    """Maximum number of states that `dp` visits before it falls back to `beam`."""

    max_analyzed_operations: int = PARTITION.max_analyzed_operations
    """
    Maximum number of operations, over all tilings, that are analyzed to estimate groups
    before the maximum group size is divided by 4, repeatedly.
    """

    traffic_weight: int = TILE_SEARCH.traffic_divisor
    """
    Number of channel cycles of the outer memory that count as much in the objective as
    a cycle of total time.
    """

    residency: bool = True
    """True if results may be resident in the level between groups."""

    sliding_window: bool = True
    """True if elements that consecutive tiles share may remain in a sliding window."""

    stages: int | None = None
    """Maximum number of iterations in flight; selected by the cost model by default."""

    axes: tuple[int, ...] | None = None
    """Axes of the first result of a group that may be tiled; all by default."""

    max_evaluations: int | None = None
    """
    Maximum number of the best schedules and plans that are evaluated by the event model
    on the whole program; fewer in programs with many operations. 16 in small programs
    by default.
    """

    max_evaluated_operations: int = REFINEMENT.evaluated_operations
    """Maximum number of operations over all evaluated programs."""

    tile: tuple[int, ...] = ()
    """Tile sizes for `graph-select-tile-sizes`; if given, groups are not changed."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.strategy not in STRATEGIES:
            allowed = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {allowed}, got {self.strategy}"
            )
        if self.traffic_weight < 0:
            raise PassFailedException(
                f"expected a traffic weight of at least 0, got {self.traffic_weight}"
            )
        target = TargetSpec.read_from_module(op)
        level = find_tile_level(target, self.level)
        estimator = NpuEstimator.create_for_level(target, level)
        if estimator is None or estimator.is_nearest or self.tile:
            return
        for _ in self.search_partitions(ctx, op, target, level):
            pass

    def search_partitions(
        self,
        context: Context,
        op: ModuleOp,
        target: TargetSpec,
        level: Level,
        alternatives: int = 0,
    ) -> Iterator[PartitionResult]:
        """
        Search a schedule for each problem and yield it, with up to `alternatives`
        alternatives per step. Each schedule is applied when the iterator advances.
        """
        remarks, memo = RemarkCollector(self.name), memo_of(context)
        for function in op.walk():
            if not isinstance(function, func.FuncOp) or is_preparation_function(
                function
            ):
                continue
            free = frozenset(values_of_any_layout(function))
            for block in function.body.blocks:
                fuse_slices_into_readers(block, level, target)
                for problem in list(partition_problems_of(block, level, free)):
                    partition = self.search_schedule_of_problem(
                        problem, target, level, alternatives, memo
                    )
                    if partition is not None:
                        self._select_schedule_by_evaluation(
                            context, partition, target, level
                        )
                        yield partition
                        partition.merged_groups = _apply_selected_schedule(
                            partition, level, remarks
                        )
                sort_topologically(block)
                self._order_components_by_evaluation(context, block, target, level)
        attach_remarks(remarks)

    def search_schedule_of_problem(
        self,
        block_problem: BlockProblem,
        target: TargetSpec,
        level: Level,
        alternatives: int = 0,
        memo: Memo | None = None,
    ) -> PartitionResult | None:
        """
        Return the best schedule of a problem, or None if there are no groups or no
        schedule.
        """
        if not any(isinstance(op, graph.GroupOp) for op in block_problem.nodes):
            return None
        costs = self.cost_model_of(block_problem, target, level, memo)
        group_limit = self.max_group_size
        while True:
            costs.limit_analysis_work(
                self.max_analyzed_operations if group_limit > 1 else None
            )
            try:
                result = search_schedule(
                    block_problem.problem,
                    costs,
                    self.strategy,
                    self.objective_for_target(target, level),
                    self._limit_group_size(block_problem, group_limit),
                    alternatives=alternatives,
                    retain=self.residency,
                )
                break
            except NoScheduleError:
                return None
            except WorkLimitError:
                group_limit = max(1, group_limit // PARTITION.group_size_divisor)
                costs.drop_cached_sets_larger_than(group_limit)
        costs.limit_analysis_work(None)
        return PartitionResult(block_problem, costs, result)

    def _limit_group_size(
        self, block_problem: BlockProblem, group_limit: int
    ) -> Limits:
        """Return the limits of the search, with another one for the group size."""
        return replace(
            self.search_limits(self._evaluation_count_for(block_problem)),
            group=group_limit,
        )

    def _select_schedule_by_evaluation(
        self,
        context: Context,
        partition_result: PartitionResult,
        target: TargetSpec,
        level: Level,
    ) -> None:
        """Select among the best schedules with the evaluator, if there is one."""
        evaluations = self._evaluation_count_for(partition_result.block_problem)
        evaluator = (
            evaluator_of(context, target, REFINEMENT.schedule_instructions)
            if evaluations > 1
            else None
        )
        if evaluator is not None:
            on_one_core = self._schedules_on_one_core(partition_result, target, level)
            refinement = ScheduleRefinement(
                partition_result.block_problem,
                partition_result.costs,
                target,
                level,
                evaluator,
                apply_schedule,
                self.objective_for_target(target, level),
                evaluations,
                self._max_slowdown,
                len(on_one_core),
            )
            smaller = self._schedules_in_less_memory(
                partition_result, self.objective_for_target(target, level)
            )
            partition_result.schedule = refinement.find_best(
                partition_result.search_result.best_schedules,
                [*smaller, *on_one_core],
                self._schedules_with_half_a_resource(partition_result, target, level),
            )
            partition_result.evaluation = refinement.evaluated_times_of(
                partition_result.schedule,
                partition_result.search_result.best_schedules[0],
            )

    @property
    def _max_slowdown(self) -> float:
        """
        Maximum ratio to the cycles of the fastest schedule, unlimited if traffic weighs
        more than by default.
        """
        if self.traffic_weight < TILE_SEARCH.traffic_divisor:
            return inf
        return REFINEMENT.max_slowdown_for_traffic

    def _schedules_in_less_memory(
        self, partition_result: PartitionResult, objective: Objective
    ) -> Sequence[Schedule]:
        """
        Return the best schedule that a smaller memory would have, if there is one, so
        that more memory does not make programs slower: the capacity is halved until the
        best schedule does not fit.
        """
        costs, problem = partition_result.costs, partition_result.block_problem.problem
        capacity = problem.capacity
        taken = max(
            step.context.occupied_bytes + step.option.footprint
            for step in partition_result.search_result.schedule.steps
        )
        while capacity >= max(1, taken):
            capacity //= 2
        try:
            with costs.limit_capacity(capacity):
                result = search_schedule(
                    replace(problem, capacity=capacity),
                    costs,
                    self.strategy,
                    objective,
                    self.search_limits(),
                    retain=self.residency,
                )
        except NoScheduleError:
            return ()
        return (result.schedule,)

    def _schedules_with_half_a_resource(
        self, partition_result: PartitionResult, target: TargetSpec, level: Level
    ) -> Sequence[RestrictedSchedule]:
        """
        Return the best schedules with half of a resource, so that more of it does not
        make programs slower.
        """
        search = RestrictedScheduleSearch(
            partition_result.costs,
            self.objective_for_target(target, level),
            partition_result.search_result.best_schedules,
        )
        found = map(search.find_best_on, targets_with_half_a_resource(target, level))
        return [each for each in found if each is not None]

    def _schedules_on_one_core(
        self, partition_result: PartitionResult, target: TargetSpec, level: Level
    ) -> Sequence[Schedule]:
        """
        Return the best schedule that one core would have, if there are several, so that
        more cores do not make programs slower.
        """
        if target.cores == 1:
            return ()
        problem = partition_result.block_problem
        found = self.search_schedule_of_problem(
            problem, replace(target, cores=1), level
        )
        return () if found is None else (found.schedule,)

    def _order_components_by_evaluation(
        self, context: Context, block: Block, target: TargetSpec, level: Level
    ) -> None:
        """Order the independent components of a block with the evaluator."""
        components = list(partition_problems_of(block, level))
        evaluations = (
            self._evaluation_count_for(components[0]) if len(components) > 1 else 0
        )
        evaluator = (
            evaluator_of(context, target, REFINEMENT.schedule_instructions)
            if evaluations > 1
            else None
        )
        if evaluator is not None:
            nodes = [each.nodes for each in components]
            search = ComponentOrderSearch(block, nodes, target, evaluator, evaluations)
            if (operations := search.find_fastest()) is not None:
                move_before_terminator(operations)
                sort_topologically(block)

    def _evaluation_count_for(self, block_problem: BlockProblem) -> int:
        """Return the number of programs to evaluate for a problem."""
        return limit_evaluations(
            block_problem, self.max_evaluations, self.max_evaluated_operations
        )

    def cost_model_of(
        self,
        block_problem: BlockProblem,
        target: TargetSpec,
        level: Level,
        memo: Memo | None = None,
    ) -> GroupCosts:
        """
        Return the cost model of the groups of a problem, for the search space defined
        by the options.
        """
        search_space = SearchSpace(self.sliding_window, self.stages, self.axes)
        args = (
            block_problem.nodes,
            block_problem.values,
            target,
            level,
            self.max_contractions,
        )
        return GroupCosts(
            *args, search_space, block_problem.free_values, self.max_operations, memo
        )

    def objective_for_target(self, target: TargetSpec, level: Level) -> Objective:
        """
        Return the objective: a weighted sum of the time and the traffic with the outer
        memory.
        """
        names = list(target.levels)
        outer_level = target.levels[names[names.index(level.name) + 1]]
        return Objective(self.traffic_weight * outer_level.bandwidth, 1)

    def search_limits(self, evaluation_count: int = 0) -> Limits:
        """Return the limits of the search, given the number of evaluations."""
        schedules = max(1, (evaluation_count + 1) // 2)
        return Limits(
            states=self.max_states,
            moves=2 * self.max_states,
            residency_sets=PARTITION.max_resident_sets,
            group=self.max_group_size,
            ways=schedules,
        )


@dataclass
class PartitionResult:
    """A partition problem of a block, and the schedule found for it."""

    block_problem: BlockProblem
    costs: GroupCosts
    search_result: SearchResult
    schedule: Schedule = field(init=False)
    """Schedule to apply: the best by the cost model, or a faster evaluated one."""
    evaluation: EvaluatedTimes | None = None
    """Evaluated times of the schedule."""
    merged_groups: Sequence[graph.GroupOp | None] = ()
    """Group of each step after the schedule is applied; None for steps without one."""

    def __post_init__(self) -> None:
        self.schedule = self.search_result.schedule


def _apply_selected_schedule(
    partition_result: PartitionResult, level: Level, remark_collector: RemarkCollector
) -> list[graph.GroupOp | None]:
    """
    Form the groups of the selected schedule with their plans, and return the group or
    None of each step.
    """
    schedule = partition_result.schedule
    groups = apply_schedule(partition_result.block_problem, schedule, level)
    for step, group in zip(schedule.steps, groups, strict=True):
        plan = step.option.plan
        nodes = (
            partition_result.block_problem.nodes[number]
            for number in elements_of_mask(step.group)
        )
        count = sum(isinstance(op, graph.GroupOp) for op in nodes)
        if group is not None and isinstance(plan, OuterPlan) and count > 1:
            text = (
                f"{count} groups run as one: {plan.cost.total_cycles:,} cycles, "
                f"{plan.cost.payload_bytes:,} bytes by the model"
            )
            remark_collector.add_remark(group, "passed", text)
    return groups
