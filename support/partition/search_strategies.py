"""Search strategies by name, and the entry point `search`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlf.support.partition.bit_sets import members
from tlf.support.partition.candidate_groups import (
    CandidateGroups,
    ConnectedGroups,
    ContiguousGroups,
    Demand,
    GivenGroups,
)
from tlf.support.partition.canonical_numbering import (
    RenumberedCosts,
    canonicalize_problem,
    identity_numbering,
)
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import CostModel
from tlf.support.partition.downset_sweep import LimitError, StuckError, Sweep
from tlf.support.partition.greedy_merge import GreedyMerge
from tlf.support.partition.group_structure import Groups
from tlf.support.partition.objective import Objective
from tlf.support.partition.pareto_labels import Label, ParetoFronts
from tlf.support.partition.partition_problem import Problem
from tlf.support.partition.residency_outcomes import Outcomes
from tlf.support.partition.schedule import NoScheduleError, Result, Statistics
from tlf.support.partition.schedule_alternatives import Alternatives
from tlf.support.partition.search_limits import Limits

BY_TIME = Objective()
DEFAULT = Limits()
ANYTHING = Demand()


@dataclass(frozen=True)
class SearchTask:
    """A problem whose costs are remembered, and what is wanted of a schedule."""

    memo: CostMemo
    objective: Objective
    limits: Limits
    demand: Demand
    retain: bool = True
    """True if values may stay in the retained memory."""

    def build_sweep(
        self, candidates: CandidateGroups, width: int = 0, retain: bool = True
    ) -> Sweep:
        """A search that runs these groups."""
        fronts = ParetoFronts(self.objective, self.limits.front, self.limits.ways)
        prices = not self.limits.front == self.limits.ways == 1
        retain = retain and self.retain
        outcomes = Outcomes(self.memo, self.limits.residency_sets, retain, prices)
        return Sweep(candidates, outcomes, fronts, self.limits, width)


Found = tuple[Sweep, list[Label], str]
"""The search, the best ways to the end, and why they may not be the best."""


def _run_unfused(task: SearchTask) -> Found:
    alone = [1 << n for n in range(len(task.memo.groups.problem.nodes))]
    sweep = task.build_sweep(
        GivenGroups(task.memo, task.limits, sequence=alone), retain=False
    )
    return sweep, sweep.run(), "each operation runs alone"


def _run_greedy(task: SearchTask) -> Found:
    groups = GreedyMerge(task.memo, task.limits, task.objective).merge_groups()
    sweep = task.build_sweep(
        GivenGroups(task.memo, task.limits, sequence=groups), width=1
    )
    return sweep, sweep.run(), "groups were joined as long as this paid at once"


def _run_interval(task: SearchTask) -> Found:
    candidates = ContiguousGroups(task.memo, task.limits, task.demand)
    why = "groups are contiguous in one order"
    return _run_or_beam(task, candidates, why)


def _run_beam(task: SearchTask) -> Found:
    candidates = ConnectedGroups(task.memo, task.limits, task.demand)
    sweep = task.build_sweep(candidates, task.limits.width)
    return sweep, sweep.run(), "a beam keeps the most promising states alone"


def _run_dp(task: SearchTask) -> Found:
    return _run_or_beam(task, ConnectedGroups(task.memo, task.limits, task.demand), "")


def _run_or_beam(task: SearchTask, candidates: CandidateGroups, why: str) -> Found:
    """Visit all states, or a beam of them if there are too many."""
    sweep = task.build_sweep(candidates)
    try:
        return sweep, sweep.run(), why
    except LimitError as error:
        sweep = task.build_sweep(candidates, task.limits.width)
        return sweep, sweep.run(), str(error)


STRATEGIES: Mapping[str, Callable[[SearchTask], Found]] = {
    "dp": _run_dp,
    "beam": _run_beam,
    "interval": _run_interval,
    "greedy": _run_greedy,
    "unfused": _run_unfused,
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


CONSTRAINED = ("dp", "beam", "interval")
"""Those that can put given operations into one group."""


def search(
    problem: Problem,
    costs: CostModel,
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
    if demand.together and strategy not in CONSTRAINED:
        able = ", ".join(CONSTRAINED)
        raise ValueError(f"`{strategy}` takes no demands, expected one of {able}")
    ordered, numbering = canonicalize_problem(problem)
    if strategy == "interval":
        ordered, numbering = problem, identity_numbering(problem)
    memo = CostMemo(RenumberedCosts(costs, numbering), Groups(ordered))
    demanded = Demand(numbering.unmap_group(demand.together))
    task = SearchTask(memo, objective, limits, demanded, retain)
    try:
        sweep, labels, why = STRATEGIES[strategy](task)
    except StuckError as error:
        first = next(members(ordered.all_operations & ~error.done))
        found_by = _strategy_name(strategy, error.width)
        raise NoScheduleError(numbering.nodes[first], found_by) from None
    ways = tuple(numbering.map_schedule(label.to_schedule()) for label in labels)
    front = ways if limits.ways == 1 else ways[:1]
    statistics = _collect_statistics(strategy, sweep, why)
    if not alternatives:
        return Result(front[0], front, statistics, (), ways)
    others = Alternatives(sweep).find_along(labels[0], alternatives)
    told = tuple(tuple(map(numbering.map_alternative, each)) for each in others)
    return Result(front[0], front, statistics, told, ways)


def _strategy_name(strategy: str, width: int) -> str:
    """
    Return the name of the strategy that ran in the end: a beam if it had to give up
    states.
    """
    return "beam" if width and strategy != "greedy" else strategy


def _collect_statistics(strategy: str, sweep: Sweep, why: str) -> Statistics:
    if not why and sweep.candidates.too_large:
        why = f"groups of more than {sweep.limits.group} operations were left out"
    if not why and sweep.memo.has_prefetch:
        why = "early loads may hide better behind slower groups"
    return Statistics(
        strategy=_strategy_name(strategy, sweep.width),
        exact=not why,
        reason=why,
        width=sweep.width,
        downsets=sweep.downsets,
        states=sweep.states,
        candidates=sweep.candidate_count,
        queries=sweep.memo.queries,
        cache_hits=sweep.memo.cache_hits,
    )
