"""Search strategies by name, and the entry point `search`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlf.support.bit_sets import members
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
    """
    Problem with memoized costs, and the objective and constraints of the schedule.
    """

    memo: CostMemo
    objective: Objective
    limits: Limits
    demand: Demand
    retain: bool = True
    """True if values may stay in the inner level."""

    def build_sweep(
        self, candidates: CandidateGroups, width: int = 0, retain: bool = True
    ) -> Sweep:
        """Return a sweep over these candidate groups."""
        fronts = ParetoFronts(self.objective, self.limits.front, self.limits.ways)
        has_exact_costs = not self.limits.front == self.limits.ways == 1
        retain = retain and self.retain
        outcomes = Outcomes(
            self.memo, self.limits.residency_sets, retain, has_exact_costs
        )
        return Sweep(candidates, outcomes, fronts, self.limits, width)


Found = tuple[Sweep, list[Label], str]
"""
The sweep, the labels of the best paths to the end, and the reason why they may not be
optimal.
"""


def _run_unfused(task: SearchTask) -> Found:
    alone = [1 << n for n in range(len(task.memo.groups.problem.nodes))]
    sweep = task.build_sweep(
        GivenGroups(task.memo, task.limits, sequence=alone), retain=False
    )
    return sweep, sweep.run(), "each operation runs by itself"


def _run_greedy(task: SearchTask) -> Found:
    groups = GreedyMerge(task.memo, task.limits, task.objective).merge_groups()
    sweep = task.build_sweep(
        GivenGroups(task.memo, task.limits, sequence=groups), width=1
    )
    return (
        sweep,
        sweep.run(),
        "groups were merged as long as each merge reduced the cost",
    )


def _run_interval(task: SearchTask) -> Found:
    candidates = ContiguousGroups(task.memo, task.limits, task.demand)
    why = "groups are contiguous in one order"
    return _run_or_beam(task, candidates, why)


def _run_beam(task: SearchTask) -> Found:
    candidates = ConnectedGroups(task.memo, task.limits, task.demand)
    sweep = task.build_sweep(candidates, task.limits.width)
    return sweep, sweep.run(), "a beam keeps only the most promising states"


def _run_dp(task: SearchTask) -> Found:
    return _run_or_beam(task, ConnectedGroups(task.memo, task.limits, task.demand), "")


def _run_or_beam(task: SearchTask, candidates: CandidateGroups, why: str) -> Found:
    """Visit all states, or a beam of them if a limit is exceeded."""
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

- `dp`: the optimal schedule, by dynamic programming over downsets. Beyond its limits a
  beam search, as the statistics report.
- `beam`: the best schedule through the most promising states.
- `interval`: the best schedule whose groups are contiguous in the given order.
- `greedy`: neighbours merged while this reduces the cost, and values retained while
  they fit.
- `unfused`: each operation by itself, with nothing retained.
"""


CONSTRAINED = ("dp", "beam", "interval")
"""Strategies that support constraints: given operations in one group."""


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
    Find a schedule of a problem, and up to `alternatives` alternatives to each of its
    groups; the schedule does not depend on their number. With `retain` false, no value
    stays in the inner level. Except for `interval`, the cost of the result does not
    depend on the numbering of the operations.

    Raises NoScheduleError if no sequence of groups can run, and ValueError if the
    strategy is unknown or, as `greedy` and `unfused`, does not support the demand.
    """
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise ValueError(f"unknown strategy `{strategy}`, expected one of {known}")
    if demand.together and strategy not in CONSTRAINED:
        supported = ", ".join(CONSTRAINED)
        raise ValueError(f"`{strategy}` takes no demands, expected one of {supported}")
    canonical, numbering = canonicalize_problem(problem)
    if strategy == "interval":
        canonical, numbering = problem, identity_numbering(problem)
    memo = CostMemo(RenumberedCosts(costs, numbering), Groups(canonical))
    mapped_demand = Demand(numbering.unmap_group(demand.together))
    task = SearchTask(memo, objective, limits, mapped_demand, retain)
    try:
        sweep, labels, why = STRATEGIES[strategy](task)
    except StuckError as error:
        first = next(members(canonical.all_operations & ~error.done))
        found_by = _strategy_name(strategy, error.width)
        raise NoScheduleError(numbering.nodes[first], found_by) from None
    ways = tuple(numbering.map_schedule(label.to_schedule()) for label in labels)
    front = ways if limits.ways == 1 else ways[:1]
    statistics = _collect_statistics(strategy, sweep, why)
    if not alternatives:
        return Result(front[0], front, statistics, (), ways)
    found = Alternatives(sweep).find_along(labels[0], alternatives)
    mapped = tuple(tuple(map(numbering.map_alternative, each)) for each in found)
    return Result(front[0], front, statistics, mapped, ways)


def _strategy_name(strategy: str, width: int) -> str:
    """
    Return the name of the strategy that ran in the end: `beam` if states were dropped.
    """
    return "beam" if width and strategy != "greedy" else strategy


def _collect_statistics(strategy: str, sweep: Sweep, why: str) -> Statistics:
    if not why and sweep.candidates.too_large:
        why = f"groups of more than {sweep.limits.group} operations were left out"
    if not why and sweep.memo.has_prefetch:
        why = "prefetches may overlap better with slower groups"
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
