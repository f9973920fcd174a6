"""Groups are priced where they may be the best by their bounds, and only there."""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from search_exhaustive import schedules
from search_problems import Arbitrary, random_problem, with_labels

from tlf.support.partition import (
    CostModel,
    Limits,
    Option,
    PartitionProblem,
    ResidencyContext,
    search_schedule,
)


@dataclass
class Bounded(CostModel):
    """Any numbers, and others that bound them from below, by up to so much less."""

    costs: CostModel
    slack: int
    asked: int = 0
    bounded: int = 0
    _bounds: dict[object, Option] = field(default_factory=dict[object, Option])

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        self.asked += 1
        return self.costs.options_of_group(group, context)

    def bound_of_options(self, group: int, context: ResidencyContext) -> Option:
        self.bounded += 1
        ways = self.costs.options_of_group(
            group, ResidencyContext(*context.residency_sets, 0)
        )
        less = random.Random(hash((group, context.residency_sets))).randrange(
            self.slack + 1
        )
        return Option(
            max(0, min((each.time for each in ways), default=less) - less),
            max(0, min((each.bytes for each in ways), default=less) - less),
            0,
            idle_cycles=sys.maxsize,
            prefetch_capacity=sys.maxsize,
        )


def example(seed: int) -> tuple[PartitionProblem, Arbitrary]:
    problem, _ = random_problem(seed, 6)
    problem = with_labels(problem)
    return problem, Arbitrary(problem, seed)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("strategy", ["dp", "interval", "beam", "greedy"])
@pytest.mark.parametrize("seed", range(400, 430))
def test_bounds_change_nothing(strategy: str, seed: int):
    problem, costs = example(seed)
    found = search_schedule(problem, costs, strategy)
    bounded = search_schedule(problem, Bounded(costs, 15), strategy)

    assert bounded.schedule == found.schedule
    # A beam settles as many states as bounds leave a chance to be among the best.
    if not found.statistics.width:
        assert bounded.statistics.states == found.statistics.states
    assert bounded.statistics.downsets == found.statistics.downsets


@pytest.mark.parametrize("seed", range(430, 450))
def test_best_of_all_schedules(seed: int):
    problem, costs = example(seed)
    found = search_schedule(problem, Bounded(costs, 15)).schedule

    assert (found.time, found.bytes) == min(schedules(problem, costs))


@pytest.mark.parametrize("slack", [0, 5])
def test_the_nearer_the_bounds_the_less_is_priced(slack: int):
    asked = {slack: 0, 40: 0, None: 0}
    for seed in range(450, 470):
        problem, costs = example(seed)
        for each in (slack, 40):
            asked[each] += search_schedule(
                problem, Bounded(costs, each)
            ).statistics.queries
        asked[None] += search_schedule(problem, costs).statistics.queries

    assert asked[slack] < 0.75 * asked[40] < asked[None]


@pytest.mark.parametrize("seed", range(470, 490))
def test_alternatives_are_priced_where_they_may_be_the_best(seed: int):
    problem, costs = example(seed)
    bounded = Bounded(costs, 15)
    found = search_schedule(problem, bounded, alternatives=3)
    priced = search_schedule(problem, costs, limits=Limits(front=2), alternatives=3)

    assert bounded.bounded
    assert bounded.asked <= priced.statistics.queries
    assert found.alternatives == priced.alternatives


@dataclass
class Early(CostModel):
    """The same, with moves that groups before may hide."""

    costs: Arbitrary

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        generator = random.Random(
            hash((self.costs.seed, group, context.residency_sets))
        )
        return [
            replace(
                option,
                prefetch_cycles=generator.randrange(30),
                idle_cycles=generator.randrange(30),
                prefetch_capacity=generator.randrange(30),
            )
            for option in self.costs.options_of_group(group, context)
        ]


@pytest.mark.parametrize("strategy", ["dp", "interval", "beam", "greedy"])
def test_the_schedule_is_the_same_with_alternatives(strategy: str):
    """Though which ways are kept for their slack depends on what is priced."""
    for seed in range(490, 510):
        problem, costs = example(seed)
        bounded = Bounded(Early(costs), 15)
        told = search_schedule(problem, bounded, strategy, alternatives=3)

        found = search_schedule(problem, bounded, strategy)
        assert (told.schedule, told.statistics) == (found.schedule, found.statistics)
        assert len(told.alternatives) == len(told.schedule.steps)
