"""Properties of every strategy, and relations between them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from partition_graphs import GRAPHS, RooflineCosts
from search_problems import Arbitrary, random_problem, renumbered, with_labels
from search_replay import check

from tlf.support.partition import (
    STRATEGIES,
    Limits,
    NoScheduleError,
    Objective,
    Option,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    ResidencyContext,
    Schedule,
    search_schedule,
)

SEEDS = range(1000, 1025)
OTHERS = [name for name in STRATEGIES if name != "dp"]


def cost_of(schedule: Schedule) -> tuple[int, int]:
    return schedule.time, schedule.bytes


def medium(seed: int) -> tuple[PartitionProblem, RooflineCosts]:
    problem, work = random_problem(seed, 11)
    return problem, RooflineCosts(problem, work, heavy=30, most=3)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_schedules_can_be_carried_out(strategy: str, seed: int):
    problem, costs = medium(seed)
    try:
        schedule = search_schedule(problem, costs, strategy).schedule
    except NoScheduleError:
        assert strategy == "unfused"
        return

    check(problem, costs, schedule)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_strategy_is_better(seed: int):
    problem, costs = medium(seed)
    result = search_schedule(problem, costs)

    assert result.statistics.exact
    for strategy in OTHERS:
        other = search_schedule(problem, costs, strategy)
        assert not other.statistics.exact
        assert cost_of(result.schedule) <= cost_of(other.schedule)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "strategy", [name for name in STRATEGIES if name != "interval"]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_do_not_matter(strategy: str, seed: int):
    problem, work = random_problem(seed, 11)
    other, order = renumbered(problem, seed)
    one = search_schedule(problem, RooflineCosts(problem, work, 30), strategy)
    two = search_schedule(
        other, RooflineCosts(other, [work[n] for n in order], 30), strategy
    )

    assert cost_of(one.schedule) == cost_of(two.schedule)
    assert [step.option for step in one.schedule.steps] == [
        step.option for step in two.schedule.steps
    ]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_larger_memory_is_never_worse(seed: int):
    problem, work = random_problem(seed, 10)
    found: list[tuple[int, int]] = []
    for capacity in (16, 24, 40, 80, 200):
        larger = replace(problem, capacity=capacity)
        costs = RooflineCosts(larger, work, 30)
        found.append(cost_of(search_schedule(larger, costs).schedule))

    assert found == sorted(found, reverse=True)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_cheaper_operations_are_never_worse(seed: int):
    problem, work = random_problem(seed, 10)
    generator = random.Random(seed)
    less = [amount - generator.randrange(amount + 1) for amount in work]
    before = search_schedule(problem, RooflineCosts(problem, work, 100)).schedule
    after = search_schedule(problem, RooflineCosts(problem, less, 100)).schedule

    assert cost_of(after) <= cost_of(before)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_searching_again_finds_the_same(strategy: str):
    problem, costs = medium(7)

    assert search_schedule(problem, costs, strategy) == search_schedule(
        problem, costs, strategy
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_structures_have_in_common_changes_nothing(seed: int):
    problem, costs = medium(seed)
    apart = search_schedule(with_labels(problem), costs)
    shared = search_schedule(problem, costs)

    assert cost_of(apart.schedule) == cost_of(shared.schedule)
    assert shared.statistics.queries <= apart.statistics.queries


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_longer_fronts_end_in_the_same_best(seed: int):
    problem, _ = random_problem(seed, 8)
    costs = Arbitrary(with_labels(problem), seed)
    one = search_schedule(costs.problem, costs)
    many = search_schedule(costs.problem, costs, limits=Limits(front=50))

    assert cost_of(one.schedule) == cost_of(many.schedule)
    fronts = [cost_of(schedule) for schedule in many.front]
    assert fronts == sorted(fronts)
    assert [b for _, b in fronts] == sorted({b for _, b in fronts}, reverse=True)
    for schedule in many.front:
        check(costs.problem, costs, schedule)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_before_time(seed: int):
    problem, costs = medium(seed)
    by_bytes = search_schedule(
        problem, costs, objective=Objective(time=0, bytes=1)
    ).schedule
    by_time = search_schedule(problem, costs).schedule

    assert by_bytes.bytes <= by_time.bytes
    assert by_time.time <= by_bytes.time


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("graph", GRAPHS)
def test_beyond_a_limit_it_is_a_beam(graph: str):
    problem, work = GRAPHS[graph](3 if graph == "residual" else 1)
    costs = RooflineCosts(problem, work)
    best = search_schedule(problem, costs)
    few_states = search_schedule(problem, costs, limits=Limits(states=100, width=4))
    few_groups = search_schedule(problem, costs, limits=Limits(candidates=3, width=4))
    few_moves = search_schedule(problem, costs, limits=Limits(moves=100, width=4))
    few_choices = search_schedule(
        problem, costs, limits=Limits(residency_sets=2, width=4)
    )
    small = search_schedule(problem, costs, limits=Limits(group=3))

    assert best.statistics.exact
    assert best.statistics.reason == ""
    assert few_states.statistics.strategy == "beam"
    assert few_states.statistics.reason == "more than 100 states"
    assert few_states.statistics.width == 4
    assert few_groups.statistics.strategy == "beam"
    assert few_groups.statistics.reason == "more than 3 candidate groups"
    assert few_moves.statistics.reason == "more than 100 transitions"
    assert few_choices.statistics.reason == "more than 2 residency sets"
    assert small.statistics.strategy == "dp"
    assert small.statistics.reason == "groups of more than 3 operations were left out"
    for result in (few_states, few_groups, few_moves, few_choices, small):
        assert not result.statistics.exact
        assert cost_of(best.schedule) <= cost_of(result.schedule)
        check(problem, costs, result.schedule)


def test_all_read_all():
    """Each operation reads the results of all before it, as in DenseNet."""
    numbers = range(24)
    values = [ProblemValue(4, n == numbers[-1], f"value {n}") for n in numbers]
    nodes = [ProblemOperation(tuple(range(n)), (n,), f"node {n}") for n in numbers[1:]]
    problem = PartitionProblem(tuple(nodes), tuple(values), 64)
    costs = RooflineCosts(problem, [100] * len(nodes), heavy=100)
    found = search_schedule(
        problem, costs, limits=Limits(moves=10_000, residency_sets=64, width=4)
    )

    assert found.statistics.strategy == "beam"
    assert found.statistics.queries < 20_000
    check(problem, costs, found.schedule)


@dataclass
class Unrunnable(RooflineCosts):
    """Says that no groups of several operations run, and is not asked about them."""

    def is_runnable(self, group: int) -> bool:
        return group & (group - 1) == 0

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        assert self.is_runnable(group)
        return super().options_of_group(group, context)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_never_runs_is_not_priced(strategy: str):
    problem, work = GRAPHS["residual"](1)
    found = search_schedule(problem, Unrunnable(problem, work), strategy)

    assert all(step.group.bit_count() == 1 for step in found.schedule.steps)


@pytest.mark.parametrize(
    ("graph", "blocks"),
    [
        ("residual", 4),
        pytest.param("u-net", 2, marks=pytest.mark.long),
        ("transformer", 2),
    ],
)
def test_effort_grows_with_the_length(graph: str, blocks: int):
    """In counts, since times depend on what else runs. Blocks are solved once."""
    few, many = (
        search_schedule(problem, RooflineCosts(problem, work)).statistics
        for problem, work in (GRAPHS[graph](blocks), GRAPHS[graph](2 * blocks))
    )

    assert few.exact
    assert many.exact
    assert many.states <= 2.4 * few.states
    assert many.candidates <= 2.4 * few.candidates
    assert many.queries <= 1.1 * few.queries


def test_fifty_residual_blocks():
    problem, work = GRAPHS["residual"](50)
    result = search_schedule(problem, RooflineCosts(problem, work))

    assert len(problem.nodes) == 500
    assert result.statistics.exact
    assert len(result.schedule.steps) == 50
    assert result.statistics.states < 3000
    assert result.statistics.queries < 3000
