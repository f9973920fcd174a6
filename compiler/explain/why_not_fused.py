"""
Explanation of plans: reason why two operations are not fused, and the smallest change
that fuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, auto

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.analysis.tiling.group_analysis import UNTILEABLE
from tlf.compiler.explain.fusion_query import (
    FusionQuery,
    cost_of_result,
    find_matching_steps,
)
from tlf.compiler.explain.partition_choices import (
    Cost,
    PartitionChoice,
    operations_of_node,
)
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.layout.declared_layouts import values_of_any_layout
from tlf.planner.partition.block_problem import partition_problems_of
from tlf.support.partition import SearchResult

DOUBLINGS = 8
"""Maximum number of doublings of a capacity in the search for a sufficient one."""

BISECTIONS = 3
"""Number of bisection steps within the last doubling."""


class BindingConstraint(StrEnum):
    """
    Constraint that keeps two operations in different groups; `NOTHING` if they share
    one.
    """

    NOTHING = auto()
    """The operations run in one group."""
    LEGALITY = auto()
    """No group of both can be tiled, or none is connected."""
    LIMIT = auto()
    """The group of both exceeds the size limits of the search."""
    CAPACITY = auto()
    """The smallest tiles of the group of both do not fit."""
    COST = auto()
    """The best schedule with both in one group takes longer."""


@dataclass(frozen=True)
class FusingChange:
    """Change of the target or of options with which two operations run in one group."""

    text: str
    before: Cost
    """Cost without the change, of the affected part of the program."""
    after: Cost


@dataclass(frozen=True)
class FusionVerdict:
    """
    Explanation of why two operations are not in one group, or that they are, with costs
    of schedules and a change that fuses them.
    """

    binding: BindingConstraint
    reason: str
    best: Cost | None = None
    """Cost of the best schedule."""
    fused: Cost | None = None
    """Cost of the best schedule with both in one group, if there is one."""
    change: FusingChange | None = None
    """The smallest change that fuses both, if one was found."""

    @property
    def cycle_difference(self) -> int | None:
        """
        Cycles that fusion adds, or cycles that the change saves if fusion is infeasible
        without it; `None` if unknown.
        """
        if self.best is not None and self.fused is not None:
            return self.fused.cycles - self.best.cycles
        if self.change is not None:
            return self.change.before.cycles - self.change.after.cycles
        return None


def explain_why_not_fused(
    module: ModuleOp,
    pair: tuple[Operation, Operation],
    target: TargetSpec,
    partitioner: GraphPartitionPass,
    choices: Sequence[PartitionChoice] = (),
) -> FusionVerdict:
    """
    Return why two operations are not in one group, in a module whose groups
    `partitioner` has not merged yet. Operations may be in groups or in none. `choices`
    are the partitions that `partitioner` chose for the module.
    """
    query = _find_fusion_query(module, pair, target, partitioner)
    if query is None:
        return FusionVerdict(
            BindingConstraint.LEGALITY,
            "the operations are in different partition problems: no search covers both",
        )
    if (verdict := _explain_current_groups(query)) is not None:
        return verdict
    if (best := query.best) is None:
        return FusionVerdict(BindingConstraint.LEGALITY, "the program has no schedule")
    problem = query.block_problem.problem
    choice = next((each for each in choices if each.problem == problem), None)
    if (verdict := _evaluated_verdict(query, best, choice)) is not None:
        return verdict
    if query.find_joint_step(best) is not None:
        cost = cost_of_result(best)
        return FusionVerdict(
            BindingConstraint.NOTHING, "both are in one group", cost, cost
        )
    return _explain_cost_of_fusion(query, best, choice)


def _explain_cost_of_fusion(
    query: FusionQuery, best: SearchResult, choice: PartitionChoice | None
) -> FusionVerdict:
    """Return why the best schedule with both operations in one group is not run."""
    together = query.best_together.result
    best = _executed_schedule_result(best, together, choice)
    cost = cost_of_result(best)
    if together is None:
        return _explain_infeasible(query, cost)
    step = query.find_joint_step(together)
    assert step is not None
    change = _find_larger_capacity(query.restrict_to(step.group))
    reason = _describe_difference(query, best, together)
    return FusionVerdict(
        BindingConstraint.COST, reason, cost, cost_of_result(together), change
    )


def _explain_current_groups(query: FusionQuery) -> FusionVerdict | None:
    """Return the verdict if the groups of the operations determine it."""
    if query.pair[0] is query.pair[1]:
        return FusionVerdict(
            BindingConstraint.NOTHING, _explain_same_group(query.pair[0])
        )
    if any(map(_has_plan, query.pair)):
        reason = "one of them is in a group that was planned before `graph-partition`"
        return FusionVerdict(BindingConstraint.LEGALITY, reason)
    return None


def _explain_same_group(group: Operation) -> str:
    """Return why operations are in one group before groups are merged."""
    if _has_plan(group):
        return "they are in one group that was planned before `graph-partition`"
    return "`graph-group` put them into one group"


def _has_plan(node: Operation) -> bool:
    return isinstance(node, graph.GroupOp) and node.plan is not None


def _executed_schedule_result(
    best: SearchResult, together: SearchResult | None, choice: PartitionChoice | None
) -> SearchResult:
    """
    Return the schedule that was executed, instead of the best by the analytic model.
    """
    if choice is None:
        return best
    if together is not None and together.schedule.time < choice.schedule.time:
        return best
    return replace(best, schedule=choice.schedule)


def _evaluated_verdict(
    query: FusionQuery, best: SearchResult, choice: PartitionChoice | None
) -> FusionVerdict | None:
    """
    Return the verdict of the event model where it differs from that of the analytic
    model; `None` otherwise.
    """
    if choice is None or (evaluation := choice.evaluation) is None:
        return None
    is_joint = query.has_joint_step(choice.schedule)
    if is_joint == query.has_joint_step(best.schedule):
        return None
    first = Cost(evaluation.analytic_best_cycles, best.schedule.payload)
    chosen = Cost(evaluation.selected_cycles, choice.schedule.payload)
    if is_joint:
        reason = "both are in one group, which is faster by the event model"
        return FusionVerdict(BindingConstraint.NOTHING, reason, chosen, chosen)
    reason = (
        "the best schedule by the cost model fuses them, but is slower by the event "
        f"model than another of {evaluation.program_count} evaluated schedules"
    )
    change = FusingChange("graph-partition{max-evaluations=0}", chosen, first)
    return FusionVerdict(BindingConstraint.COST, reason, chosen, first, change)


def _find_fusion_query(
    module: ModuleOp,
    pair: tuple[Operation, Operation],
    target: TargetSpec,
    partitioner: GraphPartitionPass,
) -> FusionQuery | None:
    """Return the query for the partition problem that contains both operations."""
    level = find_tile_level(target, partitioner.level)
    for function in module.walk():
        if not isinstance(function, func.FuncOp):
            continue
        free = frozenset(values_of_any_layout(function))
        for block in function.body.blocks:
            for block_problem in partition_problems_of(block, level):
                first, second = (
                    _node_containing(op, block_problem.nodes) for op in pair
                )
                if first is not None and second is not None:
                    nodes, pair_nodes = block_problem.nodes, (first, second)
                    return FusionQuery(nodes, pair_nodes, target, partitioner, free)
    return None


def _node_containing(op: Operation, nodes: Sequence[Operation]) -> Operation | None:
    return next(
        (node for node in nodes if op is node or op in operations_of_node(node)), None
    )


def _explain_infeasible(query: FusionQuery, best: Cost) -> FusionVerdict:
    """
    Return the verdict if every group of both is ruled out, with the binding constraint.
    """
    problem, group = query.block_problem.problem, query.smallest_joint_group
    if not problem.is_connected(group):
        reason = (
            "no chain of dependences connects them without operations of a third group"
        )
        return FusionVerdict(BindingConstraint.LEGALITY, reason, best)
    part = query.restrict_to(group)
    min_bytes, capacity = query.costs.min_tile_bytes(group), query.level.capacity
    if min_bytes is None:
        return FusionVerdict(BindingConstraint.LEGALITY, UNTILEABLE, best)
    if min_bytes > capacity:
        reason = (
            f"the smallest tiles of their group take {min_bytes:,} bytes of "
            f"{query.level.name}, {min_bytes - capacity:,} more than the {capacity:,} "
            "that it has"
        )
        return FusionVerdict(
            BindingConstraint.CAPACITY,
            reason,
            best,
            None,
            _find_larger_capacity(part.without_limits()),
        )
    reason = query.costs.objection_to_group(group) or (
        f"at most {query.partitioner.max_group_size} groups are merged into one, "
        f"and fusing them needs {group.bit_count()}"
    )
    return FusionVerdict(
        BindingConstraint.LIMIT, reason, best, None, _lift_limits(part)
    )


def _lift_limits(query: FusionQuery) -> FusingChange | None:
    """
    Return the change that lifts the limits on groups, with its gain; `None` if no
    schedule is known.
    """
    unlimited = query.without_limits()
    if query.best is None or (together := unlimited.best_together.result) is None:
        return None
    step = unlimited.find_joint_step(together)
    assert step is not None
    options = (
        f"max-group-size={step.group.bit_count()} "
        f"max-contractions={unlimited.costs.count_contractions(step.group)}"
    )
    text = f"graph-partition{{{options}}}"
    return FusingChange(text, cost_of_result(query.best), cost_of_result(together))


def _find_larger_capacity(query: FusionQuery) -> FusingChange | None:
    """Return the smallest capacity at which fusion is best, found by bisection."""
    low = high = query.level.capacity
    for _ in range(DOUBLINGS):
        low, high = high, 2 * high
        if _is_joint_best(query.with_capacity(high)):
            break
    else:
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) // 2
        if _is_joint_best(query.with_capacity(middle)):
            high = middle
        else:
            low = middle
    sufficient = query.with_capacity(high).best_together.result
    if query.best is None or sufficient is None:
        return None
    name = query.level.name
    text = (
        f"{_format_capacity(high)} of {name} "
        f"({query.target.name}:{name}={_format_capacity(high)})"
    )
    return FusingChange(text, cost_of_result(query.best), cost_of_result(sufficient))


def _is_joint_best(query: FusionQuery) -> bool:
    """
    Return `True` if no schedule is better than the best one with both in one group.
    """
    together, best = query.best_together.result, query.best
    if together is None or best is None:
        return False
    return together.schedule.time <= best.schedule.time


def _format_capacity(size: int) -> str:
    """Return a capacity in bytes in the format of target descriptions."""
    return f"{size // 1024}K" if size % 1024 == 0 else str(size)


def _describe_difference(
    query: FusionQuery, best: SearchResult, together: SearchResult
) -> str:
    """
    Return a description of the difference of two schedules, over the steps that differ.
    """
    step = query.find_joint_step(together)
    assert step is not None
    steps = find_matching_steps(step.group, best, together)
    apart, joined = (sum(each.option.time for each in part) for part in steps)
    extra = together.schedule.payload - best.schedule.payload
    moved = f"{abs(extra):,} bytes {'more' if extra > 0 else 'less'}"
    times = f"fused {joined:,} cycles, separate {apart:,}"
    if (count := len(steps[1])) > 1:
        times = (
            f"with both in one, {count} groups take {joined:,} cycles, else {apart:,}"
        )
    return f"{times}; fusion moves {moved if extra else 'the same number of bytes'}"
