"""
Pass `graph-partition`: fuses groups and selects the tensors resident between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.prepack import is_preparation
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.dialects.topological_order import sort_topologically
from tlf.planner.context import Memo, evaluator_of, memo_of
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.cost.npu.outer_plan import TRAFFIC, OuterPlan
from tlf.planner.fusion.remark_collector import RemarkCollector
from tlf.planner.layout.declared_layouts import free_values
from tlf.planner.partition.block_problem import BlockProblem, problems_of
from tlf.planner.partition.component_order import ComponentOrder
from tlf.planner.partition.group_cost_model import (
    MAX_OPERATIONS,
    GroupCosts,
    WorkLimitError,
)
from tlf.planner.partition.schedule_application import apply_schedule
from tlf.planner.partition.schedule_refinement import (
    MAX_EVALUATED_OPERATIONS,
    MAX_INSTRUCTIONS,
    EvaluatedTimes,
    ScheduleRefinement,
    limit_evaluations,
)
from tlf.planner.partition.slice_fusion import fuse_slices
from tlf.planner.search_space import SearchSpace
from tlf.support.partition import (
    STRATEGIES,
    Limits,
    NoScheduleError,
    Objective,
    Result,
    Schedule,
    members,
    search,
)

MAX_RESIDENT_SETS = 64
"""Maximum number of resident sets after a group, before `dp` falls back to `beam`."""

MAX_ANALYZED_OPERATIONS = 300_000
"""
Maximum number of operations analysed over all tilings, before the group size is
reduced.
"""

GROUP_SIZE_DIVISOR = 4
"""Divisor of the maximum group size then."""


@dataclass(frozen=True)
class GraphPartitionPass(ModulePass):
    """
    Let groups that follow each other run as one group where that is faster.

    The groups of a block are cut into sets that run one after the other, so that the
    whole takes the least time by the model of the level. A set need not be contiguous
    in the block. Results stay in the level, whole, for groups that read them, where
    that pays. Each set becomes one group with a plan. Targets without a model, and
    groups that have a plan, stay as they are.
    """

    name = "graph-partition"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    strategy: str = "dp"
    """`dp`, `beam`, `interval`, `greedy` or `unfused`."""

    max_group_size: int = 12
    """Maximum number of groups that may be fused into one."""

    max_contractions: int = 12
    """Maximum number of contractions in a group."""

    max_operations: int = MAX_OPERATIONS
    """Maximum number of operations in groups that may be fused into one."""

    max_states: int = 20_000
    """States that `dp` visits before it gives up and leaves it to `beam`."""

    max_analyzed_operations: int = MAX_ANALYZED_OPERATIONS
    """
    Maximum number of operations, over all tilings, that are analysed to price groups,
    before only a quarter of as many groups may be fused, and so on.
    """

    traffic_weight: int = TRAFFIC
    """
    Of how many cycles that moves take the channel of the farther memory one counts,
    beside the time that all takes.
    """

    residency: bool = True
    """True if results may be resident in the level between groups."""

    sliding_window: bool = True
    """True if tiles may keep their overlap with the next one."""

    stages: int | None = None
    """The most iterations of loops over tiles in flight; unless given, what pays."""

    axes: tuple[int, ...] | None = None
    """The axes that tiles may cut, of the first result of a group; all unless given."""

    max_evaluations: int | None = None
    """
    Number of schedules and plans near the best that are compared by the event model, on
    the whole program; fewer in programs of many operations. Unless given, 16 in small
    programs.
    """

    max_evaluated_operations: int = MAX_EVALUATED_OPERATIONS
    """Maximum number of operations, over all programs that are compared."""

    tile: tuple[int, ...] = ()
    """Tile sizes for `graph-select-tile-sizes`; if given, groups stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {known}, got {self.strategy}"
            )
        if self.traffic_weight < 0:
            raise PassFailedException(
                "expected at least 0 cycles of traffic for one that counts, "
                f"got {self.traffic_weight}"
            )
        target = TargetSpec.of(op)
        level = find_tile_level(target, self.level)
        timed = NpuEstimator.of(target, level)
        if timed is None or timed.is_nearest or self.tile:
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
        Search a schedule for each problem and yield it, with so many alternatives for
        each step. A partition is carried out once the next one is asked for.
        """
        notes, memo = RemarkCollector(self.name), memo_of(context)
        for function in op.walk():
            if not isinstance(function, func.FuncOp) or is_preparation(function):
                continue
            free = frozenset(free_values(function))
            for block in function.body.blocks:
                fuse_slices(block, level, target)
                for stated in list(problems_of(block, level, free)):
                    found = self.search_problem(
                        stated, target, level, alternatives, memo
                    )
                    if found is not None:
                        self._refine_schedule(context, found, target, level)
                        yield found
                        found.merged_groups = _carry_out_schedule(found, level, notes)
                sort_topologically(block)
                self._order_components(context, block, target, level)
        notes.attach_remarks()

    def search_problem(
        self,
        stated: BlockProblem,
        target: TargetSpec,
        level: Level,
        alternatives: int = 0,
        memo: Memo | None = None,
    ) -> PartitionResult | None:
        """
        Return the best schedule of a problem, or None where there is nothing to choose.
        """
        if not any(isinstance(op, graph.GroupOp) for op in stated.nodes):
            return None
        costs = self.cost_model_of(stated, target, level, memo)
        groups = self.max_group_size
        while True:
            costs.limit_work(self.max_analyzed_operations if groups > 1 else None)
            try:
                found = search(
                    stated.problem,
                    costs,
                    self.strategy,
                    self.objective(target, level),
                    replace(
                        self.search_limits(self._evaluations_for(stated)), group=groups
                    ),
                    alternatives=alternatives,
                    retain=self.residency,
                )
                break
            except NoScheduleError:
                return None
            except WorkLimitError:
                groups = max(1, groups // GROUP_SIZE_DIVISOR)
                costs.forget_larger_than(groups)
        costs.limit_work(None)
        return PartitionResult(stated, costs, found)

    def _refine_schedule(
        self, context: Context, found: PartitionResult, target: TargetSpec, level: Level
    ) -> None:
        """Select among the best schedules by the evaluator, if there is one."""
        tries = self._evaluations_for(found.block_problem)
        evaluator = (
            evaluator_of(context, target, MAX_INSTRUCTIONS) if tries > 1 else None
        )
        if evaluator is not None:
            refinement = ScheduleRefinement(
                found.block_problem,
                found.costs,
                target,
                level,
                evaluator,
                self.objective(target, level),
                tries,
            )
            found.schedule = refinement.find_best(found.result.ways)
            found.evaluation = refinement.evaluated_times_of(
                found.schedule, found.result.ways[0]
            )

    def _order_components(
        self, context: Context, block: Block, target: TargetSpec, level: Level
    ) -> None:
        """Order the independent components of a block by the evaluator."""
        parts = list(problems_of(block, level))
        tries = self._evaluations_for(parts[0]) if len(parts) > 1 else 0
        evaluator = (
            evaluator_of(context, target, MAX_INSTRUCTIONS) if tries > 1 else None
        )
        if evaluator is not None:
            nodes = [each.nodes for each in parts]
            ComponentOrder(block, nodes, target, evaluator, tries).reorder_block()

    def _evaluations_for(self, stated: BlockProblem) -> int:
        """Return the number of programs that are compared for a problem."""
        return limit_evaluations(
            stated, self.max_evaluations, self.max_evaluated_operations
        )

    def cost_model_of(
        self,
        stated: BlockProblem,
        target: TargetSpec,
        level: Level,
        memo: Memo | None = None,
    ) -> GroupCosts:
        """
        Return the cost model of the groups of a problem, in the search space of the
        options.
        """
        freedom = SearchSpace(self.sliding_window, self.stages, self.axes)
        args = stated.nodes, stated.values, target, level, self.max_contractions
        return GroupCosts(*args, freedom, stated.free, self.max_operations, memo)

    def objective(self, target: TargetSpec, level: Level) -> Objective:
        """
        Return the objective: time, and a weight of the traffic with the outer memory.
        """
        names = list(target.levels)
        farther = target.levels[names[names.index(level.name) + 1]]
        return Objective(self.traffic_weight * farther.bandwidth, 1)

    def search_limits(self, tries: int = 0) -> Limits:
        """The limits of the search, where so many schedules are to be compared."""
        ways = max(1, (tries + 1) // 2)
        return Limits(
            states=self.max_states,
            moves=2 * self.max_states,
            residency_sets=MAX_RESIDENT_SETS,
            group=self.max_group_size,
            ways=ways,
        )


@dataclass
class PartitionResult:
    """A partition problem of a block, and the schedule found for it."""

    block_problem: BlockProblem
    costs: GroupCosts
    result: Result
    schedule: Schedule = field(init=False)
    """Schedule to carry out: the best by the model, unless another one was faster."""
    evaluation: EvaluatedTimes | None = None
    """Result of the event model for it."""
    merged_groups: Sequence[graph.GroupOp | None] = ()
    """The group of each step, once the schedule is carried out; None for others."""

    def __post_init__(self) -> None:
        self.schedule = self.result.schedule


def _carry_out_schedule(
    partition: PartitionResult, level: Level, notes: RemarkCollector
) -> list[graph.GroupOp | None]:
    """Apply the selected schedule, with remarks on fused groups."""
    schedule = partition.schedule
    made = apply_schedule(partition.block_problem, schedule, level)
    for step, group in zip(schedule.steps, made, strict=True):
        plan = step.option.plan
        nodes = (
            partition.block_problem.nodes[number] for number in members(step.group)
        )
        count = sum(isinstance(op, graph.GroupOp) for op in nodes)
        if group is not None and isinstance(plan, OuterPlan) and count > 1:
            text = (
                f"{count} groups run as one: {plan.cost.total_cycles:,} cycles, "
                f"{plan.cost.payload_bytes:,} bytes by the model"
            )
            notes.add_remark(group, "passed", text)
    return made
