"""Choice of groups: the chosen schedule, and its alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.dialects import graph
from tlf.dialects.target import Level, Target
from tlf.passes.plan.graph_partition import GraphPartitionPass, Partition
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.refinement import Rehearsed
from tlf.support.partition import (
    NoScheduleError,
    Problem,
    Schedule,
    Statistics,
    Step,
    members,
    search,
)

ALTERNATIVES = 3
"""Number of alternatives that are reported for a group."""


@dataclass(frozen=True)
class Cost:
    """By the model, of a whole schedule."""

    cycles: int
    bytes: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cycles + other.cycles, self.bytes + other.bytes)


@dataclass(frozen=True)
class Other:
    """
    Another group that could have run in a place, and what the best schedule would cost
    that runs it there.
    """

    operations: tuple[Operation, ...]
    kept: int
    """Number of tensors that would stay resident after it."""
    cost: Cost


@dataclass(frozen=True)
class Choice:
    """One part of a program, that hands nothing on to another one, in groups."""

    groups: Sequence[graph.GroupOp | None]
    """In order; None for what is no group."""
    others: Sequence[Sequence[Other]]
    """Alternatives to each step, the cheapest first."""
    cost: Cost
    unfused: Cost | None
    """With every group by itself, from the outermost memory and back to it."""
    statistics: Statistics
    problem: Problem
    """The problem that was scheduled."""
    chosen: Schedule
    rehearsed: Rehearsed | None
    """Cost of it by the event model, if that was run."""
    given: Sequence[graph.GroupOp] = ()
    """Groups that had their plan before: no cost above has theirs in it."""

    def with_given(self, cost: Cost) -> Choice:
        """The same with what groups cost that had their plan before."""
        others = [
            [replace(each, cost=each.cost + cost) for each in told]
            for told in self.others
        ]
        unfused = None if self.unfused is None else self.unfused + cost
        whole = self.cost + cost
        return replace(self, others=others, cost=whole, unfused=unfused, given=())


@dataclass(frozen=True)
class RecordingPartitionPass(GraphPartitionPass):
    """`graph-partition`, with what it was like before and what it chose from."""

    choices: list[Choice] = field(default_factory=list[Choice])
    before: list[ModuleOp] = field(default_factory=list[ModuleOp])

    @staticmethod
    def like(other: GraphPartitionPass) -> RecordingPartitionPass:
        """A pass with the same options."""
        options = {each.name: getattr(other, each.name) for each in fields(other)}
        return RecordingPartitionPass(**options)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.before.append(op.clone())
        super().apply(ctx, op)

    def partitions(
        self,
        context: Context,
        op: ModuleOp,
        target: Target,
        level: Level,
        alternatives: int = 0,
    ) -> Iterator[Partition]:
        told: list[tuple[Partition, list[list[Other]], Cost | None]] = []
        most = max(alternatives, ALTERNATIVES)
        for each in super().partitions(context, op, target, level, most):
            told.append((each, _others(each), _unfused(each)))
            yield each
        self.choices.extend(_choice(*each) for each in told if _has_chosen(each[0]))


def _has_chosen(partition: Partition) -> bool:
    """
    Return `True` if some step of the chosen schedule has its plan from the search.
    """
    return any(_is_planned(step) for step in partition.chosen.steps)


def _is_planned(step: Step) -> bool:
    return isinstance(step.option.plan, OuterPlan)


def _choice(
    partition: Partition, others: Sequence[Sequence[Other]], unfused: Cost | None
) -> Choice:
    """Return the record of a partition that was carried out."""
    chosen = partition.chosen
    steps = zip(partition.merged, chosen.steps, strict=True)
    given = [
        group for group, step in steps if group is not None and not _is_planned(step)
    ]
    return Choice(
        partition.merged,
        others,
        Cost(chosen.time, chosen.payload),
        unfused,
        partition.found.statistics,
        partition.stated.problem,
        chosen,
        partition.rehearsed,
        given,
    )


def operations_of(partition: Partition, step: Step) -> tuple[Operation, ...]:
    """Return the operations of a step in order, with groups opened."""
    nodes = (partition.stated.nodes[number] for number in members(step.group))
    return tuple(op for node in nodes for op in opened(node))


def opened(node: Operation) -> Sequence[Operation]:
    """The operations of a group, or the operation itself."""
    if not isinstance(node, graph.GroupOp):
        return [node]
    return [op for op in node.body.block.ops if not isinstance(op, graph.YieldOp)]


def _others(partition: Partition) -> list[list[Other]]:
    """
    For each step of what was chosen, what else there was: by the search, or where it
    would have run other groups, these.
    """
    found = partition.found
    told = {
        step.group: [
            _other(partition, each.step, Cost(each.time, each.payload))
            for each in others
        ]
        for step, others in zip(found.schedule.steps, found.alternatives, strict=True)
    }
    best = Cost(found.schedule.time, found.schedule.payload)
    return [
        told[step.group]
        if step.group in told
        else [
            _other(partition, each, best)
            for each in found.schedule.steps
            if each.group & step.group
        ]
        for step in partition.chosen.steps
    ]


def _other(partition: Partition, step: Step, cost: Cost) -> Other:
    return Other(operations_of(partition, step), step.context.kept.bit_count(), cost)


def _unfused(partition: Partition) -> Cost | None:
    try:
        found = search(partition.stated.problem, partition.costs, "unfused")
    except NoScheduleError:
        return None
    return Cost(found.schedule.time, found.schedule.payload)
