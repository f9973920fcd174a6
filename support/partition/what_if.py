"""Queries for the best schedule that fuses given operations, or a reason."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tlf.support.partition.bit_sets import mask_of, members
from tlf.support.partition.candidate_groups import Demand
from tlf.support.partition.cost_model import CostModel
from tlf.support.partition.objective import Objective
from tlf.support.partition.partition_problem import Problem
from tlf.support.partition.schedule import NoScheduleError, Result
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.search_strategies import BY_TIME, DEFAULT, search


@dataclass(frozen=True)
class WhatIf:
    """The best schedule with some operations in one group, or why there is none."""

    result: Result | None
    reason: str
    """Empty if there is a schedule."""


def force_together(
    problem: Problem,
    costs: CostModel,
    together: Iterable[int],
    strategy: str = "dp",
    objective: Objective = BY_TIME,
    limits: Limits = DEFAULT,
) -> WhatIf:
    """
    Find the best schedule in which given operations share a group. Where it costs more
    than the best of all, the difference is why they do not.

    Raises ValueError for strategies that cannot, see `search`.
    """
    wanted = mask_of(together)
    try:
        demand = Demand(wanted)
        return WhatIf(search(problem, costs, strategy, objective, limits, demand), "")
    except NoScheduleError as error:
        if error.strategy != "dp":
            return WhatIf(None, str(error))
    return WhatIf(None, _explain_infeasibility(problem, costs, wanted, limits))


def _explain_infeasibility(
    problem: Problem, costs: CostModel, wanted: int, limits: Limits
) -> str:
    """Return why no group that can run contains some operations."""
    names = " and ".join(str(number) for number in members(wanted))
    group = problem.convex_closure(wanted)
    if costs.monotone and (objection := costs.objection(group)) is not None:
        return objection
    if not problem.is_connected(group):
        found = _find_connected_group(problem, group, limits.candidates)
        if found is None:
            return f"nothing connects operations {names}"
        group = found
    if group.bit_count() > limits.group:
        return (
            f"operations {names} need a group of {group.bit_count()}, "
            f"expected at most {limits.group}"
        )
    if (objection := costs.objection(group)) is not None:
        return objection
    return f"operations {names} cannot run as one group in any context"


def _find_connected_group(problem: Problem, group: int, most: int) -> int | None:
    """The smallest connected group around some operations, of the first few found."""
    pending, seen = deque([group]), {group}
    while pending and len(seen) <= most:
        group = pending.popleft()
        if problem.is_connected(group):
            return group
        near = 0
        for number in members(group):
            near |= problem.neighbours[number]
        for number in members(near & ~group):
            larger = problem.convex_closure(group | 1 << number)
            if larger not in seen:
                seen.add(larger)
                pending.append(larger)
    return None
