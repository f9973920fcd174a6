"""
Queries to the partition solver, without IR: the best schedule that fuses given
operations, or a reason.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tlf.support.bit_sets import mask_of, members
from tlf.support.partition.candidate_groups import Demand
from tlf.support.partition.cost_model import CostModel
from tlf.support.partition.objective import Objective
from tlf.support.partition.partition_problem import Problem
from tlf.support.partition.schedule import NoScheduleError, Result
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.search_strategies import BY_TIME, DEFAULT, search


@dataclass(frozen=True)
class WhatIf:
    """
    Best schedule with some operations in one group, or the reason why there is none.
    """

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
    Find the best schedule in which given operations share a group. Its extra cost over
    the best schedule is the reason why they are apart there.

    Raises ValueError for strategies without constraints, see `search`.
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
    """Return the reason why no feasible group contains some operations."""
    names = " and ".join(str(index) for index in members(wanted))
    group = problem.convex_closure(wanted)
    if costs.monotone and (objection := costs.objection(group)) is not None:
        return objection
    if not problem.is_connected(group):
        connected = _find_connected_group(problem, group, limits.candidates)
        if connected is None:
            return f"nothing connects operations {names}"
        group = connected
    if group.bit_count() > limits.group:
        return (
            f"operations {names} need a group of {group.bit_count()}, "
            f"expected at most {limits.group}"
        )
    if (objection := costs.objection(group)) is not None:
        return objection
    return f"operations {names} cannot run as one group in any context"


def _find_connected_group(problem: Problem, group: int, most: int) -> int | None:
    """
    Return the smallest connected group around some operations, of the first `most`
    groups that are found.
    """
    pending, visited = deque([group]), {group}
    while pending and len(visited) <= most:
        group = pending.popleft()
        if problem.is_connected(group):
            return group
        neighbours = 0
        for index in members(group):
            neighbours |= problem.neighbours[index]
        for index in members(neighbours & ~group):
            larger = problem.convex_closure(group | 1 << index)
            if larger not in visited:
                visited.add(larger)
                pending.append(larger)
    return None
