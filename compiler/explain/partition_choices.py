"""
Explanation of plans: records of the groups that the pass `graph-partition` chose, and
of their alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.dialects import graph
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.plan.graph_partition import GraphPartitionPass, PartitionResult
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.schedule_refinement import EvaluatedTimes
from tlf.support.partition import (
    NoScheduleError,
    PartitionProblem,
    Schedule,
    SearchStatistics,
    Step,
    elements_of_mask,
    search_schedule,
)

ALTERNATIVES = 3
"""Number of alternatives that are reported for a group."""


@dataclass(frozen=True)
class Cost:
    """
    Cost of a schedule: its cycles, and the bytes moved from and to the outer level.
    """

    cycles: int
    bytes: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cycles + other.cycles, self.bytes + other.bytes)


@dataclass(frozen=True)
class AlternativeGroup:
    """Alternative group of a step, with the best total cost that uses it."""

    operations: tuple[Operation, ...]
    resident_count: int
    """Number of tensors that are resident after the step."""
    cost: Cost


@dataclass(frozen=True)
class PartitionChoice:
    """
    Record of the groups that `graph-partition` chose for one independent part of a
    program, with costs and alternatives.
    """

    groups: Sequence[graph.GroupOp | None]
    """Groups in order; `None` for steps without a group."""
    alternatives: Sequence[Sequence[AlternativeGroup]]
    """Alternatives to each step, cheapest first."""
    cost: Cost
    unfused_cost: Cost | None
    """Cost with no groups merged, and all traffic to the outermost memory."""
    statistics: SearchStatistics
    problem: PartitionProblem
    """The scheduled problem."""
    schedule: Schedule
    evaluation: EvaluatedTimes | None
    """Costs by the event model, if it was run."""
    planned_groups: Sequence[graph.GroupOp] = ()
    """Groups that were planned beforehand: their cost is included in no cost above."""

    def add_planned_cost(self, cost: Cost) -> PartitionChoice:
        """Return the choice with the cost of the groups planned beforehand included."""
        alternatives = [
            [replace(each, cost=each.cost + cost) for each in step_alternatives]
            for step_alternatives in self.alternatives
        ]
        unfused = None if self.unfused_cost is None else self.unfused_cost + cost
        total = self.cost + cost
        return replace(
            self,
            alternatives=alternatives,
            cost=total,
            unfused_cost=unfused,
            planned_groups=(),
        )


@dataclass(frozen=True)
class RecordingPartitionPass(GraphPartitionPass):
    """`graph-partition` that records the modules before it, and its candidates."""

    choices: list[PartitionChoice] = field(default_factory=list[PartitionChoice])
    modules_before: list[ModuleOp] = field(default_factory=list[ModuleOp])

    @staticmethod
    def with_options_of(other: GraphPartitionPass) -> RecordingPartitionPass:
        """Return a pass with the same options."""
        options = {each.name: getattr(other, each.name) for each in fields(other)}
        return RecordingPartitionPass(**options)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.modules_before.append(op.clone())
        super().apply(ctx, op)

    def search_partitions(
        self,
        context: Context,
        op: ModuleOp,
        target: TargetSpec,
        level: Level,
        alternatives: int = 0,
    ) -> Iterator[PartitionResult]:
        """
        Yield the partitions of the search, then append their records to `choices`.
        """
        records: list[
            tuple[PartitionResult, list[list[AlternativeGroup]], Cost | None]
        ] = []
        count = max(alternatives, ALTERNATIVES)
        for each in super().search_partitions(context, op, target, level, count):
            records.append((each, _alternatives_by_step(each), _unfused_cost(each)))
            yield each
        self.choices.extend(
            _make_partition_choice(*each)
            for each in records
            if _has_searched_plan(each[0])
        )


def _has_searched_plan(partition: PartitionResult) -> bool:
    """Return `True` if some step of the chosen schedule was planned by the search."""
    return any(_has_outer_plan(step) for step in partition.schedule.steps)


def _has_outer_plan(step: Step) -> bool:
    return isinstance(step.option.plan, OuterPlan)


def _make_partition_choice(
    partition: PartitionResult,
    alternatives: Sequence[Sequence[AlternativeGroup]],
    unfused: Cost | None,
) -> PartitionChoice:
    """Return the record of `partition`, whose groups are already merged in the IR."""
    chosen = partition.schedule
    steps = zip(partition.merged_groups, chosen.steps, strict=True)
    planned = [
        group
        for group, step in steps
        if group is not None and not _has_outer_plan(step)
    ]
    return PartitionChoice(
        partition.merged_groups,
        alternatives,
        Cost(chosen.time, chosen.payload),
        unfused,
        partition.search_result.statistics,
        partition.block_problem.problem,
        chosen,
        partition.evaluation,
        planned,
    )


def operations_of_step(partition: PartitionResult, step: Step) -> tuple[Operation, ...]:
    """Return the operations of a step in order, with groups expanded."""
    nodes = (
        partition.block_problem.nodes[index] for index in elements_of_mask(step.group)
    )
    return tuple(op for node in nodes for op in operations_of_node(node))


def operations_of_node(node: Operation) -> Sequence[Operation]:
    """Return the operations of a group, or the operation itself."""
    if not isinstance(node, graph.GroupOp):
        return [node]
    return [op for op in node.body.block.ops if not isinstance(op, graph.YieldOp)]


def _alternatives_by_step(partition: PartitionResult) -> list[list[AlternativeGroup]]:
    """
    Return the alternatives to each step of the executed schedule, in order; for a step
    that the best one lacks, the overlapping steps of the best one.
    """
    result = partition.search_result
    by_group = {
        step.group: [
            _make_alternative(partition, each.step, Cost(each.time, each.payload))
            for each in alternatives
        ]
        for step, alternatives in zip(
            result.schedule.steps, result.alternatives, strict=True
        )
    }
    best = Cost(result.schedule.time, result.schedule.payload)
    return [
        by_group[step.group]
        if step.group in by_group
        else [
            _make_alternative(partition, each, best)
            for each in result.schedule.steps
            if each.group & step.group
        ]
        for step in partition.schedule.steps
    ]


def _make_alternative(
    partition: PartitionResult, step: Step, cost: Cost
) -> AlternativeGroup:
    return AlternativeGroup(
        operations_of_step(partition, step), step.context.retained.bit_count(), cost
    )


def _unfused_cost(partition: PartitionResult) -> Cost | None:
    """Return the cost if no groups are merged; `None` if that has no schedule."""
    try:
        result = search_schedule(
            partition.block_problem.problem, partition.costs, "unfused"
        )
    except NoScheduleError:
        return None
    return Cost(result.schedule.time, result.schedule.payload)
