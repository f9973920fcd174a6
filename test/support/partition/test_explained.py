"""Explanations of a schedule: alternatives, and operations forced together."""

from dataclasses import replace

import pytest
from partition_graphs import GRAPHS, RooflineCosts
from search_exhaustive import schedules
from search_problems import random_problem
from search_replay import check

from tlf.support.partition import (
    FusionConstraint,
    Limits,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    Schedule,
    elements_of_mask,
    find_schedule_fusing,
    search_schedule,
)

SEEDS = range(2000, 2030)


def cost_of(schedule: Schedule) -> tuple[int, int]:
    return schedule.time, schedule.bytes


def example(seed: int) -> tuple[PartitionProblem, RooflineCosts]:
    problem, work = random_problem(seed, 6)
    return problem, RooflineCosts(problem, work, heavy=30, most=2)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_best_with_two_operations_together(seed: int):
    problem, costs = example(seed)
    for other in range(1, len(problem.nodes)):
        pair = {0, other}
        found = find_schedule_fusing(problem, costs, pair)
        every = schedules(
            problem, costs, lambda groups, pair=pair: any(pair <= g for g in groups)
        )
        assert (found.result is None) == (not every)
        assert (found.result is None) == (found.reason != "")
        if found.result is not None:
            schedule = found.result.schedule
            assert cost_of(schedule) == min(every)
            assert any(
                pair <= set(elements_of_mask(group)) for group in schedule.groups
            )
            check(problem, costs, schedule)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_alternatives_are_priced_to_the_end(seed: int):
    problem, costs = example(seed)
    result = search_schedule(problem, costs, alternatives=100)
    best = cost_of(result.schedule)

    assert len(result.alternatives) == len(result.schedule.steps)
    for step, others in zip(result.schedule.steps, result.alternatives, strict=True):
        prices = [(other.time, other.payload) for other in others]
        assert prices == sorted(prices)
        assert all(best <= price for price in prices)
        assert all(other.step.group & step.group for other in others)
        assert step not in [other.step for other in others]
    for other in result.alternatives[0]:
        first = frozenset(elements_of_mask(other.step.group))
        every = schedules(
            problem, costs, lambda groups, first=first: groups[0] == first
        )
        if other.step.group != result.schedule.steps[0].group:
            assert (other.time, other.payload) == min(every)


def test_alternatives_of_a_beam():
    problem, work = GRAPHS["u-net"](1)
    costs = RooflineCosts(problem, work)
    result = search_schedule(
        problem, costs, "beam", limits=Limits(width=8), alternatives=3
    )

    assert len(result.alternatives) == len(result.schedule.steps)
    assert all(len(others) <= 3 for others in result.alternatives)
    assert any(result.alternatives)


def chain(count: int, heavy: int) -> tuple[PartitionProblem, RooflineCosts]:
    nodes = tuple(ProblemOperation((n,), (n + 1,), str(n)) for n in range(count))
    values = (*[ProblemValue(4)] * count, ProblemValue(4, is_output=True))
    problem = PartitionProblem(nodes, values, 40)
    return problem, RooflineCosts(problem, [100] * count, most=heavy)


def test_why_not_for_an_objection():
    problem, costs = chain(4, heavy=2)

    assert find_schedule_fusing(problem, costs, (0, 1)).reason == ""
    found = find_schedule_fusing(problem, costs, (0, 3))
    assert found.result is None
    assert found.reason == "4 contractions, expected at most 2"


def test_why_not_for_the_number_of_operations():
    problem, costs = chain(6, heavy=9)
    found = find_schedule_fusing(problem, costs, (0, 5), limits=Limits(group=4))

    assert found.reason == "operations 0 and 5 need a group of 6, expected at most 4"


def test_why_not_for_the_memory():
    problem, costs = chain(2, heavy=9)
    small = replace(problem, capacity=1)
    found = find_schedule_fusing(
        small, RooflineCosts(small, costs.work, most=9), (0, 1)
    )

    assert found.reason == "operations 0 and 1 cannot run as one group in any context"


def beside(siblings: bool) -> tuple[PartitionProblem, RooflineCosts]:
    """Two operations on the same value, each followed by a heavier one."""
    nodes = (ProblemOperation((0,), (1,), "a"), ProblemOperation((0,), (2,), "b"))
    nodes += (ProblemOperation((1,), (3,), "c"), ProblemOperation((2, 3), (4,), "d"))
    values = (*[ProblemValue(4)] * 4, ProblemValue(4, is_output=True))
    problem = PartitionProblem(nodes, values, 40, siblings)
    return problem, RooflineCosts(problem, (9, 9, 100, 100), most=1)


def test_why_not_for_what_connects_them():
    problem, costs = beside(siblings=False)
    found = find_schedule_fusing(problem, costs, (0, 1))

    assert found.reason == "2 contractions, expected at most 1"
    assert find_schedule_fusing(*beside(siblings=True), (0, 1)).reason == ""


def test_why_not_as_nothing_connects_them():
    nodes = (ProblemOperation((0,), (1,), "a"), ProblemOperation((2,), (3,), "b"))
    values = (ProblemValue(4), ProblemValue(4, is_output=True)) * 2
    problem = PartitionProblem(nodes, values, 40)
    found = find_schedule_fusing(problem, RooflineCosts(problem, (9, 9)), (0, 1))

    assert found.reason == "nothing connects operations 0 and 1"


def test_why_not_by_a_beam():
    problem, costs = chain(4, heavy=2)
    found = find_schedule_fusing(problem, costs, (0, 3), "beam")

    assert found.reason.startswith("`beam` found no schedule that runs operation")


def test_strategies_without_choice_take_no_demands():
    problem, costs = chain(2, heavy=2)
    with pytest.raises(
        ValueError, match="`greedy` takes no demands, expected one of dp"
    ):
        search_schedule(problem, costs, "greedy", demand=FusionConstraint(3))
