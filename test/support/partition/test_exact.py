"""Dynamic programming over downsets finds what trying everything finds."""

import pytest
from partition_graphs import RooflineCosts
from search_exhaustive import schedules, undominated
from search_problems import Arbitrary, random_problem, with_labels

from tlf.support.partition import Limits, Objective, Schedule, search_schedule


def cost_of(schedule: Schedule) -> tuple[int, int]:
    return schedule.time, schedule.bytes


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(140))
def test_best_of_all_schedules(seed: int):
    problem, work = random_problem(seed, 8 if seed % 12 in (2, 11) else 6)
    costs = RooflineCosts(problem, work, heavy=30)
    result = search_schedule(problem, costs)

    assert result.statistics.exact
    assert cost_of(result.schedule) == min(schedules(problem, costs))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(140, 260))
def test_best_of_all_schedules_whatever_they_cost(seed: int):
    problem, _ = random_problem(seed, 6)
    problem = with_labels(problem)
    costs = Arbitrary(problem, seed)
    every = schedules(problem, costs)

    assert cost_of(search_schedule(problem, costs).schedule) == min(every)
    weights = Objective(time=1, bytes=3)
    weighted = search_schedule(problem, costs, objective=weights).schedule
    assert weighted.time + 3 * weighted.bytes == min(t + 3 * b for t, b in every)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(260, 300))
def test_whole_front(seed: int):
    problem, _ = random_problem(seed, 6)
    problem = with_labels(problem)
    costs = Arbitrary(problem, seed)
    result = search_schedule(problem, costs, limits=Limits(front=1000))

    front = [cost_of(schedule) for schedule in result.front]
    assert front == undominated(schedules(problem, costs))


@pytest.mark.parametrize("seed", range(300, 320))
def test_best_few_of_all_schedules(seed: int):
    problem, work = random_problem(seed, 6)
    costs = RooflineCosts(problem, work, heavy=30)
    result = search_schedule(problem, costs, limits=Limits(ways=12))

    ways = [cost_of(schedule) for schedule in result.best_schedules]
    assert result.schedule == result.best_schedules[0]
    assert ways == sorted(ways)
    assert len({frozenset(way.steps) for way in result.best_schedules}) == len(ways)
    every = schedules(problem, costs)
    assert ways[0] == min(every)
    assert set(ways) <= set(every)
