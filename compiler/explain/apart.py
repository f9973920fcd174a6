"""
Explanation of why two operations are not in one group, and of the least change that
fuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, auto

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.explain.choices import Choice, Cost, opened
from tlf.compiler.explain.trial import Trial, cost_of, steps_of_same
from tlf.dialects import graph
from tlf.dialects.target import Target
from tlf.dialects.target.levels import level_named
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.layout.declared import free_values
from tlf.planner.partition.problem import problems_of
from tlf.support.partition import Result

DOUBLINGS = 8
"""
Maximum number of times that a capacity is doubled in the search for a sufficient one.
"""

STEPS = 3
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


def why_apart(
    module: ModuleOp,
    pair: tuple[Operation, Operation],
    target: Target,
    partitioner: GraphPartitionPass,
    choices: Sequence[Choice] = (),
) -> Verdict:
    """
    Return why two operations are not in one group, in a module whose groups
    `partitioner` has not merged yet. Operations may be in groups or in none. `choices`
    are those that it made for the module.
    """
    trial = _trial(module, pair, target, partitioner)
    if trial is None:
        return Verdict(Binding.LEGALITY, "nothing leads from one to the other")
    if trial.pair[0] is trial.pair[1]:
        return Verdict(Binding.NOTHING, _why_in_one(trial.pair[0]))
    if any(map(_has_plan, trial.pair)):
        reason = "the group of one of them has its plan from before"
        return Verdict(Binding.LEGALITY, reason)
    if (best := trial.best) is None:
        return Verdict(Binding.LEGALITY, "the program has no schedule")
    problem = trial.stated.problem
    choice = next((each for each in choices if each.problem == problem), None)
    if (verdict := _rehearsed(trial, best, choice)) is not None:
        return verdict
    if trial.joint(best) is not None:
        cost = cost_of(best)
        return Verdict(Binding.NOTHING, "they run together", cost, cost)
    together = trial.together.result
    best = _carried_out(best, together, choice)
    cost = cost_of(best)
    if together is None:
        return _refused(trial, cost)
    step = trial.joint(together)
    assert step is not None
    change = _larger(trial.part(step.group))
    reason = _compared(trial, best, together)
    return Verdict(Binding.COST, reason, cost, cost_of(together), change)


def _why_in_one(group: Operation) -> str:
    """Return why operations are in one group before groups are merged."""
    if _has_plan(group):
        return "they are in one group that has its plan from before"
    return "`graph-group` put them into one group"


def _has_plan(node: Operation) -> bool:
    return isinstance(node, graph.GroupOp) and node.plan is not None


def _carried_out(
    best: Result, together: Result | None, choice: Choice | None
) -> Result:
    """
    The best schedule as it was carried out: another one than by the formula, if that
    does not find it slower than what runs both together.
    """
    if choice is None:
        return best
    if together is not None and together.schedule.time < choice.chosen.time:
        return best
    return replace(best, schedule=choice.chosen)


def _rehearsed(trial: Trial, best: Result, choice: Choice | None) -> Verdict | None:
    """
    Return the verdict of the event model, where it differs from that of the analytic
    model; `None` otherwise.
    """
    if choice is None or (told := choice.rehearsed) is None:
        return None
    is_joint = trial.runs_both(choice.chosen)
    if is_joint == trial.runs_both(best.schedule):
        return None
    first = Cost(told.first, best.schedule.payload)
    chosen = Cost(told.cycles, choice.chosen.payload)
    if is_joint:
        reason = "they run together, which is faster on the event model"
        return Verdict(Binding.NOTHING, reason, chosen, chosen)
    reason = (
        "the best schedule by the formula, in which they run together, is slower on "
        f"the event model than another of {told.programs} that were evaluated"
    )
    change = Change("graph-partition{max-evaluations=0}", chosen, first)
    return Verdict(Binding.COST, reason, chosen, first, change)


def _trial(
    module: ModuleOp,
    pair: tuple[Operation, Operation],
    target: Target,
    partitioner: GraphPartitionPass,
) -> Trial | None:
    """The part of a module that holds both operations."""
    level = level_named(target, partitioner.level)
    for function in module.walk():
        if not isinstance(function, func.FuncOp):
            continue
        free = frozenset(free_values(function))
        for block in function.body.blocks:
            for stated in problems_of(block, level):
                first, second = (_node_of(op, stated.nodes) for op in pair)
                if first is not None and second is not None:
                    nodes, both = stated.nodes, (first, second)
                    return Trial(nodes, both, target, partitioner, free)
    return None


def _node_of(op: Operation, nodes: Sequence[Operation]) -> Operation | None:
    return next((node for node in nodes if op is node or op in opened(node)), None)


def _refused(trial: Trial, best: Cost) -> Verdict:
    """
    Return the verdict where every group of both is ruled out, with the constraint that
    does so.
    """
    problem, group = trial.stated.problem, trial.least_group
    if not problem.is_connected(group):
        reason = "nothing that one computes leads to the other without a third group"
        return Verdict(Binding.LEGALITY, reason, best)
    part = trial.part(group)
    least, capacity = trial.costs.least(group), trial.level.capacity
    if least is None:
        reason = "no tile of one is computed from a tile of the other"
        return Verdict(Binding.LEGALITY, reason, best)
    if least > capacity:
        reason = (
            f"the smallest tiles of their group take {least:,} bytes of "
            f"{trial.level.name}, {least - capacity:,} more than the {capacity:,} "
            "that it has"
        )
        return Verdict(Binding.CAPACITY, reason, best, None, _larger(part.unlimited()))
    reason = trial.costs.objection(group) or (
        f"a group is made of {trial.partitioner.max_group_size} groups at most, "
        f"and theirs of {group.bit_count()}"
    )
    return Verdict(Binding.LIMIT, reason, best, None, _lifted(part))


def _lifted(part: Trial) -> Change | None:
    """
    Return the change that lifts the limits on groups, with its gain; `None` if no
    schedule is known.
    """
    free = part.unlimited()
    if part.best is None or (together := free.together.result) is None:
        return None
    step = free.joint(together)
    assert step is not None
    options = (
        f"max-group-size={step.group.bit_count()} "
        f"max-contractions={free.costs.contractions_in(step.group)}"
    )
    text = f"graph-partition{{{options}}}"
    return Change(text, cost_of(part.best), cost_of(together))


def _larger(part: Trial) -> Change | None:
    """The least capacity at which running together is best, to a part of it."""
    low = high = part.level.capacity
    for _ in range(DOUBLINGS):
        low, high = high, 2 * high
        if _pays(part.sized(high)):
            break
    else:
        return None
    for _ in range(STEPS):
        middle = (low + high) // 2
        if _pays(part.sized(middle)):
            high = middle
        else:
            low = middle
    enough = part.sized(high).together.result
    if part.best is None or enough is None:
        return None
    name = part.level.name
    text = f"{_amount(high)} of {name} ({part.target.name}:{name}={_amount(high)})"
    return Change(text, cost_of(part.best), cost_of(enough))


def _pays(trial: Trial) -> bool:
    """
    Return `True` if no schedule is better than the best one with both in one group.
    """
    together, best = trial.together.result, trial.best
    if together is None or best is None:
        return False
    return together.schedule.time <= best.schedule.time


def _amount(size: int) -> str:
    """Bytes as a description of a target takes them."""
    return f"{size // 1024}K" if size % 1024 == 0 else str(size)


def _compared(trial: Trial, best: Result, together: Result) -> str:
    """
    Return a description of the difference between two schedules, where they differ.
    """
    step = trial.joint(together)
    assert step is not None
    steps = steps_of_same(step.group, best, together)
    own, joined = (sum(each.option.time for each in part) for part in steps)
    more = together.schedule.payload - best.schedule.payload
    moved = f"{abs(more):,} bytes {'more' if more > 0 else 'less'} are moved"
    times = f"as one group they take {joined:,} cycles, apart {own:,}"
    if (count := len(steps[1])) > 1:
        times = f"with both in one, {count} groups take {joined:,} cycles, else {own:,}"
    return f"{times}; together {moved if more else 'as much is moved'}"
