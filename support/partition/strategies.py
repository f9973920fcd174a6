"""The searches by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlf.support.partition.alternatives import Alternatives
from tlf.support.partition.bits import members
from tlf.support.partition.candidates import (
    Candidates,
    Contiguous,
    Demand,
    Given,
    Grown,
)
from tlf.support.partition.canonical import Renumbered, canonical, identity
from tlf.support.partition.costs import Costs
from tlf.support.partition.greedy import Joining
from tlf.support.partition.groups import Groups
from tlf.support.partition.labels import Fronts, Label
from tlf.support.partition.limits import Limits
from tlf.support.partition.memo import Memo
from tlf.support.partition.objective import Objective
from tlf.support.partition.outcomes import Outcomes
from tlf.support.partition.problem import Problem
from tlf.support.partition.schedule import NoScheduleError, Result, Statistics
from tlf.support.partition.sweep import LimitError, StuckError, Sweep

BY_TIME = Objective()
DEFAULT = Limits()
ANYTHING = Demand()


@dataclass(frozen=True)
class Task:
    """A problem whose costs are remembered, and what is wanted of a schedule."""

    memo: Memo
    objective: Objective
    limits: Limits
    demand: Demand
    retain: bool = True
    """True if values may stay in the retained memory."""

    def sweep(
        self, candidates: Candidates, width: int = 0, retain: bool = True
    ) -> Sweep:
        """A search that runs these groups."""
        fronts = Fronts(self.objective, self.limits.front, self.limits.ways)
        prices = not self.limits.front == self.limits.ways == 1
        retain = retain and self.retain
        outcomes = Outcomes(self.memo, self.limits.choices, retain, prices)
        return Sweep(candidates, outcomes, fronts, self.limits, width)


Found = tuple[Sweep, list[Label], str]
"""The search, the best ways to the end, and why they may not be the best."""


def _unfused(task: Task) -> Found:
    alone = [1 << n for n in range(len(task.memo.groups.problem.nodes))]
    sweep = task.sweep(Given(task.memo, task.limits, sequence=alone), retain=False)
    return sweep, sweep.run(), "each operation runs alone"


def _greedy(task: Task) -> Found:
    groups = Joining(task.memo, task.limits, task.objective).groups()
    sweep = task.sweep(Given(task.memo, task.limits, sequence=groups), width=1)
    return sweep, sweep.run(), "groups were joined as long as this paid at once"


def _interval(task: Task) -> Found:
    candidates = Contiguous(task.memo, task.limits, task.demand)
    why = "groups are contiguous in one order"
    return _run(task, candidates, why)


def _beam(task: Task) -> Found:
    candidates = Grown(task.memo, task.limits, task.demand)
    sweep = task.sweep(candidates, task.limits.width)
    return sweep, sweep.run(), "a beam keeps the most promising states alone"


def _dp(task: Task) -> Found:
    return _run(task, Grown(task.memo, task.limits, task.demand), "")


def _run(task: Task, candidates: Candidates, why: str) -> Found:
    """Visit all states, or a beam of them if there are too many."""
    sweep = task.sweep(candidates)
    try:
        return sweep, sweep.run(), why
    except LimitError as error:
        sweep = task.sweep(candidates, task.limits.width)
        return sweep, sweep.run(), str(error)


STRATEGIES: Mapping[str, Callable[[Task], Found]] = {
    "dp": _dp,
    "beam": _beam,
    "interval": _interval,
    "greedy": _greedy,
    "unfused": _unfused,
}
"""
Search strategies by name.

- `dp`: the best of all schedules, by dynamic programming over downsets. Beyond its
  limits a beam search, which the statistics tell.
- `beam`: the best of the schedules through the most promising states.
- `interval`: the best of those whose groups are contiguous in the given order.
- `greedy`: neighbours joined while this pays, and values retained while they fit.
- `unfused`: each operation alone, with nothing retained.
"""


DEMANDING = ("dp", "beam", "interval")
"""Those that can put given operations into one group."""


def search(
    problem: Problem,
    costs: Costs,
    strategy: str = "dp",
    objective: Objective = BY_TIME,
    limits: Limits = DEFAULT,
    demand: Demand = ANYTHING,
    alternatives: int = 0,
    retain: bool = True,
) -> Result:
    """
    Find a schedule of a problem, and up to as many alternatives to each of its groups;
    it is the same, however many are asked for. With `retain` false, nothing stays in
    the retained memory. Except for `interval`, what is found costs the same however
    operations are numbered.

    Raises NoScheduleError if no sequence of groups can run, and ValueError if the
    strategy is not known or cannot do what is demanded, as `greedy` and `unfused`.
    """
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise ValueError(f"unknown strategy `{strategy}`, expected one of {known}")
    if demand.together and strategy not in DEMANDING:
        able = ", ".join(DEMANDING)
        raise ValueError(f"`{strategy}` takes no demands, expected one of {able}")
    ordered, numbering = canonical(problem)
    if strategy == "interval":
        ordered, numbering = problem, identity(problem)
    memo = Memo(Renumbered(costs, numbering), Groups(ordered))
    demanded = Demand(numbering.inverse(demand.together))
    task = Task(memo, objective, limits, demanded, retain)
    try:
        sweep, labels, why = STRATEGIES[strategy](task)
    except StuckError as error:
        first = next(members(ordered.everything & ~error.done))
        found_by = _name(strategy, error.width)
        raise NoScheduleError(numbering.nodes[first], found_by) from None
    ways = tuple(numbering.schedule(label.schedule()) for label in labels)
    front = ways if limits.ways == 1 else ways[:1]
    statistics = _statistics(strategy, sweep, why)
    if not alternatives:
        return Result(front[0], front, statistics, (), ways)
    others = Alternatives(sweep).along(labels[0], alternatives)
    told = tuple(tuple(map(numbering.alternative, each)) for each in others)
    return Result(front[0], front, statistics, told, ways)


def _name(strategy: str, width: int) -> str:
    """
    Return the name of the strategy that ran in the end: a beam if it had to give up
    states.
    """
    return "beam" if width and strategy != "greedy" else strategy


def _statistics(strategy: str, sweep: Sweep, why: str) -> Statistics:
    if not why and sweep.candidates.too_large:
        why = f"groups of more than {sweep.limits.group} operations were left out"
    if not why and sweep.memo.has_early:
        why = "early loads may hide better behind slower groups"
    return Statistics(
        strategy=_name(strategy, sweep.width),
        exact=not why,
        reason=why,
        width=sweep.width,
        downsets=sweep.downsets,
        states=sweep.states,
        candidates=sweep.tried,
        asked=sweep.memo.asked,
        remembered=sweep.memo.remembered,
    )
