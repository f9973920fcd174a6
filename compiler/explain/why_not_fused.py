"""Reasons that keep two operations unfused, and the least change that fuses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, auto

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.explain.fusion_query import FusionQuery, cost_of, match_steps
from tlf.compiler.explain.partition_choices import Choice, Cost, operations_in
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.layout.declared_layouts import free_values
from tlf.planner.partition.block_problem import problems_of
from tlf.support.partition import Result

DOUBLINGS = 8
"""
Maximum number of times that a capacity is doubled in the search for a sufficient one.
"""

BISECTIONS = 3
"""Number of bisection steps within the last doubling."""


class Binding(StrEnum):
    """Constraint that keeps operations apart."""

    NOTHING = auto()
    """They run together."""
    LEGALITY = auto()
    """No group of them can be tiled, or none hangs together."""
    LIMIT = auto()
    """Their group is larger than the search was told to make groups."""
    CAPACITY = auto()
    """The smallest tiles of their group do not fit."""
    COST = auto()
    """It takes longer."""


@dataclass(frozen=True)
class Change:
    """One change of the target or of options with which two operations run together."""

    text: str
    before: Cost
    """Without it, of the part of the program that it is about."""
    after: Cost


@dataclass(frozen=True)
class Verdict:
    """Explanation of why two operations are not in one group."""

    binding: Binding
    reason: str
    best: Cost | None = None
    """Of the best schedule."""
    together: Cost | None = None
    """Of the best one in which they run together, if there is one."""
    change: Change | None = None
    """The least change with which they do, if one was found."""

    @property
    def stake(self) -> int | None:
        """
        Cycles: what running together costs more, or what the change saves where it is
        not possible without. None if that is not known.
        """
        if self.best is not None and self.together is not None:
            return self.together.cycles - self.best.cycles
        if self.change is not None:
            return self.change.before.cycles - self.change.after.cycles
        return None


def explain_why_not_fused(
    module: ModuleOp,
    pair: tuple[Operation, Operation],
    target: TargetSpec,
    partitioner: GraphPartitionPass,
    choices: Sequence[Choice] = (),
) -> Verdict:
    """
    Return why two operations are not in one group, in a module whose groups
    `partitioner` has not merged yet. Operations may be in groups or in none. `choices`
    are those that it made for the module.
    """
    trial = _find_query(module, pair, target, partitioner)
    if trial is None:
        return Verdict(Binding.LEGALITY, "nothing leads from one to the other")
    if trial.pair[0] is trial.pair[1]:
        return Verdict(Binding.NOTHING, _explain_same_group(trial.pair[0]))
    if any(map(_has_plan, trial.pair)):
        reason = "the group of one of them has its plan from before"
        return Verdict(Binding.LEGALITY, reason)
    if (best := trial.best) is None:
        return Verdict(Binding.LEGALITY, "the program has no schedule")
    problem = trial.block_problem.problem
    choice = next((each for each in choices if each.problem == problem), None)
    if (verdict := _evaluated_verdict(trial, best, choice)) is not None:
        return verdict
    if trial.find_joint_step(best) is not None:
        cost = cost_of(best)
        return Verdict(Binding.NOTHING, "they run together", cost, cost)
    together = trial.best_together.result
    best = _executed_result(best, together, choice)
    cost = cost_of(best)
    if together is None:
        return _explain_infeasible(trial, cost)
    step = trial.find_joint_step(together)
    assert step is not None
    change = _find_larger_capacity(trial.restrict_to(step.group))
    reason = _describe_difference(trial, best, together)
    return Verdict(Binding.COST, reason, cost, cost_of(together), change)


def _explain_same_group(group: Operation) -> str:
    """Return why operations are in one group before groups are merged."""
    if _has_plan(group):
        return "they are in one group that has its plan from before"
    return "`graph-group` put them into one group"


def _has_plan(node: Operation) -> bool:
    return isinstance(node, graph.GroupOp) and node.plan is not None


def _executed_result(
    best: Result, together: Result | None, choice: Choice | None
) -> Result:
    """Return the schedule that was executed, in place of the best by formula."""
    if choice is None:
        return best
    if together is not None and together.schedule.time < choice.schedule.time:
        return best
    return replace(best, schedule=choice.schedule)


def _evaluated_verdict(
    trial: FusionQuery, best: Result, choice: Choice | None
) -> Verdict | None:
    """
    Return the verdict of the event model, where it differs from that of the analytic
    model; `None` otherwise.
    """
    if choice is None or (told := choice.evaluation) is None:
        return None
    is_joint = trial.has_joint_step(choice.schedule)
    if is_joint == trial.has_joint_step(best.schedule):
        return None
    first = Cost(told.first, best.schedule.payload)
    chosen = Cost(told.cycles, choice.schedule.payload)
    if is_joint:
        reason = "they run together, which is faster on the event model"
        return Verdict(Binding.NOTHING, reason, chosen, chosen)
    reason = (
        "the best schedule by the formula, in which they run together, is slower on "
        f"the event model than another of {told.programs} that were evaluated"
    )
    change = Change("graph-partition{max-evaluations=0}", chosen, first)
    return Verdict(Binding.COST, reason, chosen, first, change)


def _find_query(
    module: ModuleOp,
    pair: tuple[Operation, Operation],
    target: TargetSpec,
    partitioner: GraphPartitionPass,
) -> FusionQuery | None:
    """The part of a module that holds both operations."""
    level = find_tile_level(target, partitioner.level)
    for function in module.walk():
        if not isinstance(function, func.FuncOp):
            continue
        free = frozenset(free_values(function))
        for block in function.body.blocks:
            for stated in problems_of(block, level):
                first, second = (_node_of(op, stated.nodes) for op in pair)
                if first is not None and second is not None:
                    nodes, both = stated.nodes, (first, second)
                    return FusionQuery(nodes, both, target, partitioner, free)
    return None


def _node_of(op: Operation, nodes: Sequence[Operation]) -> Operation | None:
    return next(
        (node for node in nodes if op is node or op in operations_in(node)), None
    )


def _explain_infeasible(trial: FusionQuery, best: Cost) -> Verdict:
    """
    Return the verdict where every group of both is ruled out, with the constraint that
    does so.
    """
    problem, group = trial.block_problem.problem, trial.smallest_joint_group
    if not problem.is_connected(group):
        reason = "nothing that one computes leads to the other without a third group"
        return Verdict(Binding.LEGALITY, reason, best)
    part = trial.restrict_to(group)
    least, capacity = trial.costs.min_bytes(group), trial.level.capacity
    if least is None:
        reason = "no tile of one is computed from a tile of the other"
        return Verdict(Binding.LEGALITY, reason, best)
    if least > capacity:
        reason = (
            f"the smallest tiles of their group take {least:,} bytes of "
            f"{trial.level.name}, {least - capacity:,} more than the {capacity:,} "
            "that it has"
        )
        return Verdict(
            Binding.CAPACITY,
            reason,
            best,
            None,
            _find_larger_capacity(part.without_limits()),
        )
    reason = trial.costs.objection(group) or (
        f"a group is made of {trial.partitioner.max_group_size} groups at most, "
        f"and theirs of {group.bit_count()}"
    )
    return Verdict(Binding.LIMIT, reason, best, None, _lift_limits(part))


def _lift_limits(part: FusionQuery) -> Change | None:
    """
    Return the change that lifts the limits on groups, with its gain; `None` if no
    schedule is known.
    """
    free = part.without_limits()
    if part.best is None or (together := free.best_together.result) is None:
        return None
    step = free.find_joint_step(together)
    assert step is not None
    options = (
        f"max-group-size={step.group.bit_count()} "
        f"max-contractions={free.costs.count_contractions(step.group)}"
    )
    text = f"graph-partition{{{options}}}"
    return Change(text, cost_of(part.best), cost_of(together))


def _find_larger_capacity(part: FusionQuery) -> Change | None:
    """The least capacity at which running together is best, to a part of it."""
    low = high = part.level.capacity
    for _ in range(DOUBLINGS):
        low, high = high, 2 * high
        if _is_joint_best(part.with_capacity(high)):
            break
    else:
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) // 2
        if _is_joint_best(part.with_capacity(middle)):
            high = middle
        else:
            low = middle
    enough = part.with_capacity(high).best_together.result
    if part.best is None or enough is None:
        return None
    name = part.level.name
    text = (
        f"{_format_capacity(high)} of {name} "
        f"({part.target.name}:{name}={_format_capacity(high)})"
    )
    return Change(text, cost_of(part.best), cost_of(enough))


def _is_joint_best(trial: FusionQuery) -> bool:
    """
    Return `True` if no schedule is better than the best one with both in one group.
    """
    together, best = trial.best_together.result, trial.best
    if together is None or best is None:
        return False
    return together.schedule.time <= best.schedule.time


def _format_capacity(size: int) -> str:
    """Bytes as a description of a target takes them."""
    return f"{size // 1024}K" if size % 1024 == 0 else str(size)


def _describe_difference(trial: FusionQuery, best: Result, together: Result) -> str:
    """
    Return a description of the difference between two schedules, where they differ.
    """
    step = trial.find_joint_step(together)
    assert step is not None
    steps = match_steps(step.group, best, together)
    own, joined = (sum(each.option.time for each in part) for part in steps)
    more = together.schedule.payload - best.schedule.payload
    moved = f"{abs(more):,} bytes {'more' if more > 0 else 'less'} are moved"
    times = f"as one group they take {joined:,} cycles, apart {own:,}"
    if (count := len(steps[1])) > 1:
        times = f"with both in one, {count} groups take {joined:,} cycles, else {own:,}"
    return f"{times}; together {moved if more else 'as much is moved'}"
