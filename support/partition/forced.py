"""Reasons why operations do not run together, or the cost if they did."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tlf.support.partition.bits import mask_of, members
from tlf.support.partition.candidates import Demand
from tlf.support.partition.costs import Costs
from tlf.support.partition.limits import Limits
from tlf.support.partition.objective import Objective
from tlf.support.partition.problem import Problem
from tlf.support.partition.schedule import NoScheduleError, Result
from tlf.support.partition.strategies import BY_TIME, DEFAULT, search


@dataclass(frozen=True)
class Forced:
    """The best schedule with some operations in one group, or why there is none."""

    result: Result | None
    reason: str
    """Empty if there is a schedule."""


def forced(
    problem: Problem,
    costs: Costs,
    together: Iterable[int],
    strategy: str = "dp",
    objective: Objective = BY_TIME,
    limits: Limits = DEFAULT,
) -> Forced:
    """
    Search the best schedule in which some operations share a group. Where it costs more
    than the best of all, the difference is why they do not.

    Raises ValueError for strategies that cannot, see `search`.
    """
    wanted = mask_of(together)
    try:
        demand = Demand(wanted)
        return Forced(search(problem, costs, strategy, objective, limits, demand), "")
    except NoScheduleError as error:
        if error.strategy != "dp":
            return Forced(None, str(error))
    return Forced(None, _reason(problem, costs, wanted, limits))


def _reason(problem: Problem, costs: Costs, wanted: int, limits: Limits) -> str:
    """Return why no group that can run contains some operations."""
    names = " and ".join(str(number) for number in members(wanted))
    group = problem.closure(wanted)
    if costs.monotone and (objection := costs.objection(group)) is not None:
        return objection
    if not problem.is_connected(group):
        found = _connected(problem, group, limits.candidates)
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


def _connected(problem: Problem, group: int, most: int) -> int | None:
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
            larger = problem.closure(group | 1 << number)
            if larger not in seen:
                seen.add(larger)
                pending.append(larger)
    return None
