"""
Strategies of the partition search by name, and its entry point `search`, without IR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlf.support.bit_sets import elements_of_mask
from tlf.support.partition.candidate_groups import (
    CandidateGroups,
    ConnectedGroups,
    ContiguousGroups,
    FixedGroups,
    FusionConstraint,
)
from tlf.support.partition.canonical_numbering import (
    CanonicalNumbering,
    RenumberedCosts,
    canonicalize_problem,
    identity_numbering,
)
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import CostModel
from tlf.support.partition.downset_sweep import (
    DeadEndError,
    DownsetSweep,
    SweepLimitError,
)
from tlf.support.partition.greedy_merge import GreedyMerge
from tlf.support.partition.group_structure import GroupStructures
from tlf.support.partition.objective import Objective
from tlf.support.partition.pareto_labels import ParetoFronts, PathLabel
from tlf.support.partition.partition_problem import PartitionProblem
from tlf.support.partition.residency_outcomes import ResidencyOutcomes
from tlf.support.partition.schedule import (
    Alternative,
    NoScheduleError,
    SearchResult,
    SearchStatistics,
)
from tlf.support.partition.schedule_alternatives import StepAlternatives
from tlf.support.partition.search_limits import Limits

BY_TIME = Objective()
DEFAULT = Limits()
ANYTHING = FusionConstraint()


@dataclass(frozen=True)
class SearchTask:
    """
    Problem with memoized costs, and the objective and constraints of the schedule.
    """

    memo: CostMemo
    objective: Objective
    limits: Limits
    demand: FusionConstraint
    retain: bool = True
    """True if values may stay in the inner level."""

    def build_sweep(
        self, candidates: CandidateGroups, width: int = 0, retain: bool = True
    ) -> DownsetSweep:
        """Build a sweep over these candidate groups, without running it."""
        fronts = ParetoFronts(self.objective, self.limits.front, self.limits.ways)
        has_exact_costs = not self.limits.front == self.limits.ways == 1
        retain = retain and self.retain
        outcomes = ResidencyOutcomes(
            self.memo, self.limits.residency_sets, retain, has_exact_costs
        )
        return DownsetSweep(candidates, outcomes, fronts, self.limits, width)


Found = tuple[DownsetSweep, list[PathLabel], str]
"""
The sweep, the labels of the best paths to the end, and the reason why they may not be
optimal.
"""


def _search_unfused(task: SearchTask) -> Found:
    """Sweep the sequence of single operations, with no values retained."""
    alone = [1 << n for n in range(len(task.memo.groups.problem.nodes))]
    sweep = task.build_sweep(
        FixedGroups(task.memo, task.limits, sequence=alone), retain=False
    )
    return sweep, sweep.find_best_paths(), "each operation runs by itself"


def _search_greedy(task: SearchTask) -> Found:
    """Merge groups greedily, then sweep their sequence with a beam of width 1."""
    groups = GreedyMerge(task.memo, task.limits, task.objective).merge_groups()
    sweep = task.build_sweep(
        FixedGroups(task.memo, task.limits, sequence=groups), width=1
    )
    return (
        sweep,
        sweep.find_best_paths(),
        "groups were merged as long as each merge reduced the cost",
    )


def _search_intervals(task: SearchTask) -> Found:
    candidates = ContiguousGroups(task.memo, task.limits, task.demand)
    why = "groups are contiguous in one order"
    return _search_all_or_beam(task, candidates, why)


def _search_beam(task: SearchTask) -> Found:
    candidates = ConnectedGroups(task.memo, task.limits, task.demand)
    sweep = task.build_sweep(candidates, task.limits.width)
    return sweep, sweep.find_best_paths(), "a beam keeps only the most promising states"


def _search_all_downsets(task: SearchTask) -> Found:
    return _search_all_or_beam(
        task, ConnectedGroups(task.memo, task.limits, task.demand), ""
    )


def _search_all_or_beam(
    task: SearchTask, candidates: CandidateGroups, reason: str
) -> Found:
    """Run a sweep over all states, or over a beam of them if a limit is exceeded."""
    sweep = task.build_sweep(candidates)
    try:
        return sweep, sweep.find_best_paths(), reason
    except SweepLimitError as error:
        sweep = task.build_sweep(candidates, task.limits.width)
        return sweep, sweep.find_best_paths(), str(error)


STRATEGIES: Mapping[str, Callable[[SearchTask], Found]] = {
    "dp": _search_all_downsets,
    "beam": _search_beam,
    "interval": _search_intervals,
    "greedy": _search_greedy,
    "unfused": _search_unfused,
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


def search_schedule(
    problem: PartitionProblem,
    costs: CostModel,
    strategy: str = "dp",
    objective: Objective = BY_TIME,
    limits: Limits = DEFAULT,
    demand: FusionConstraint = ANYTHING,
    alternatives: int = 0,
    retain: bool = True,
) -> SearchResult:
    """
    Find a schedule of a problem, and up to `alternatives` alternatives to each of its
    groups; the schedule does not depend on their number. With `retain` false, no value
    stays in the inner level. Except for `interval`, the cost of the result does not
    depend on the numbering of the operations.

    Raises NoScheduleError if no sequence of groups can run, and ValueError if the
    strategy is unknown or, as `greedy` and `unfused`, does not support the demand.
    """
    _check_strategy_supports_demand(strategy, demand)
    canonical, numbering = canonicalize_problem(problem)
    if strategy == "interval":
        canonical, numbering = problem, identity_numbering(problem)
    memo = CostMemo(RenumberedCosts(costs, numbering), GroupStructures(canonical))
    mapped_demand = FusionConstraint(
        numbering.map_group_to_canonical(demand.fused_operations)
    )
    task = SearchTask(memo, objective, limits, mapped_demand, retain)
    try:
        sweep, labels, why = STRATEGIES[strategy](task)
    except DeadEndError as error:
        first = next(elements_of_mask(canonical.all_operations & ~error.done))
        found_by = _effective_strategy_name(strategy, error.width)
        raise NoScheduleError(numbering.nodes[first], found_by) from None
    ways = tuple(numbering.map_schedule(label.to_schedule()) for label in labels)
    front = ways if limits.ways == 1 else ways[:1]
    statistics = _collect_statistics(strategy, sweep, why)
    mapped = _find_alternatives(sweep, labels[0], alternatives, numbering)
    return SearchResult(front[0], front, statistics, mapped, ways)


def _find_alternatives(
    sweep: DownsetSweep, label: PathLabel, count: int, numbering: CanonicalNumbering
) -> tuple[tuple[Alternative, ...], ...]:
    """Return the `count` best alternatives to each step, in the given numbering."""
    if not count:
        return ()
    found = StepAlternatives(sweep).find_alternatives_along_path(label, count)
    return tuple(tuple(map(numbering.map_alternative, each)) for each in found)


def _check_strategy_supports_demand(strategy: str, demand: FusionConstraint) -> None:
    """Raise `ValueError` if a strategy is unknown or does not support a demand."""
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise ValueError(f"unknown strategy `{strategy}`, expected one of {known}")
    if demand.fused_operations and strategy not in CONSTRAINED:
        supported = ", ".join(CONSTRAINED)
        raise ValueError(f"`{strategy}` takes no demands, expected one of {supported}")


def _effective_strategy_name(strategy: str, width: int) -> str:
    """
    Return the name of the strategy that ran in the end: `beam` if states were dropped.
    """
    return "beam" if width and strategy != "greedy" else strategy


def _collect_statistics(
    strategy: str, sweep: DownsetSweep, reason: str
) -> SearchStatistics:
    """
    Return the counters of a sweep, exact unless `reason`, dropped large groups or
    prefetches may have cost the optimum.
    """
    if not reason and sweep.candidates.too_large:
        reason = f"groups of more than {sweep.limits.group} operations were left out"
    if not reason and sweep.memo.has_prefetch:
        reason = "prefetches may overlap better with slower groups"
    return SearchStatistics(
        strategy=_effective_strategy_name(strategy, sweep.width),
        exact=not reason,
        reason=reason,
        width=sweep.width,
        downsets=sweep.downsets,
        states=sweep.states,
        candidates=sweep.candidate_count,
        queries=sweep.memo.queries,
        cache_hits=sweep.memo.cache_hits,
    )
