"""
Queries to the partition solver, without IR: the best schedule that fuses given
operations, or a reason.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tlf.support.bit_sets import elements_of_mask, mask_of
from tlf.support.partition.candidate_groups import FusionConstraint
from tlf.support.partition.cost_model import CostModel
from tlf.support.partition.objective import Objective
from tlf.support.partition.partition_problem import PartitionProblem
from tlf.support.partition.schedule import NoScheduleError, SearchResult
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.search_strategies import BY_TIME, DEFAULT, search_schedule


@dataclass(frozen=True)
class FusionQueryResult:
    """
    Best schedule with some operations in one group, or the reason why there is none.
    """

    result: SearchResult | None
    reason: str
    """Empty if there is a schedule."""


def find_schedule_fusing(
    problem: PartitionProblem,
    costs: CostModel,
    fused_operations: Iterable[int],
    strategy: str = "dp",
    objective: Objective = BY_TIME,
    limits: Limits = DEFAULT,
) -> FusionQueryResult:
    """
    Find the best schedule in which given operations share a group. Its extra cost over
    the best schedule is the reason why they are apart there.

    Raises ValueError for strategies without constraints, see `search`.
    """
    wanted = mask_of(fused_operations)
    try:
        demand = FusionConstraint(wanted)
        return FusionQueryResult(
            search_schedule(problem, costs, strategy, objective, limits, demand), ""
        )
    except NoScheduleError as error:
        if error.strategy != "dp":
            return FusionQueryResult(None, str(error))
    return FusionQueryResult(
        None, _explain_no_feasible_group(problem, costs, wanted, limits)
    )


def _explain_no_feasible_group(
    problem: PartitionProblem, costs: CostModel, fused_operations: int, limits: Limits
) -> str:
    """Return the reason why no feasible group contains some operations."""
    names = " and ".join(str(index) for index in elements_of_mask(fused_operations))
    group = problem.convex_closure(fused_operations)
    if costs.monotone and (objection := costs.objection_to_group(group)) is not None:
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
    if (objection := costs.objection_to_group(group)) is not None:
        return objection
    return f"operations {names} cannot run as one group in any context"


def _find_connected_group(
    problem: PartitionProblem, group: int, max_groups: int
) -> int | None:
    """
    Return the smallest connected group around some operations, of the first
    `max_groups` groups that are found.
    """
    pending, visited = deque([group]), {group}
    while pending and len(visited) <= max_groups:
        group = pending.popleft()
        if problem.is_connected(group):
            return group
        neighbours = 0
        for index in elements_of_mask(group):
            neighbours |= problem.neighbours[index]
        for index in elements_of_mask(neighbours & ~group):
            larger = problem.convex_closure(group | 1 << index)
            if larger not in visited:
                visited.add(larger)
                pending.append(larger)
    return None
