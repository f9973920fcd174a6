"""Early moves, and the groups before that hide them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import pytest

from tlf.support.partition import (
    STRATEGIES,
    CostModel,
    Option,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    ResidencyContext,
    search_schedule,
)
from tlf.support.partition.hidden_transfers import (
    run_group_with_slack,
    time_without_earlier_groups,
    total_time_of_groups,
)


def option(time: int, early: int = 0, idle: int = 0, room: int = 100) -> Option:
    """A way to run a group."""
    return Option(
        time, 0, 0, prefetch_cycles=early, idle_cycles=idle, prefetch_capacity=room
    )


def test_early_moves_wait_for_what_no_group_hides():
    assert time_without_earlier_groups(option(10, early=6)) == 16
    assert run_group_with_slack(4, option(10, early=6)) == (12, 0)
    assert run_group_with_slack(9, option(10, early=6, idle=2)) == (10, 5)


def test_slack_has_room():
    assert run_group_with_slack(9, option(10, idle=8, room=3)) == (10, 3)
    assert run_group_with_slack(9, option(10, idle=8, room=0)) == (10, 0)


def test_slack_is_used_once():
    ways = [option(10, idle=10), option(4, early=6), option(4, early=6)]
    assert total_time_of_groups(ways) == 10 + 4 + 2 + 4


CHAIN = PartitionProblem(
    tuple(ProblemOperation((n,), (n + 1,), f"step {n}") for n in range(3)),
    (*(ProblemValue(1) for _ in range(3)), ProblemValue(1, is_output=True)),
    capacity=8,
)

EMPTY = ResidencyContext(0, 0, 0, 0)


@dataclass
class Loading(CostModel):
    """Each operation computes for a while, and reads weights early or in its loops."""

    weights: Sequence[int]
    streamed: bool = True

    def objection_to_group(self, group: int) -> str | None:
        return None if group.bit_count() == 1 else "one operation at most"

    def options_of_group(self, group: int, context: ResidencyContext) -> list[Option]:
        early = self.weights[group.bit_length() - 1]
        ways = [Option(20, 0, 0, "early", early, 20, 100)]
        if self.streamed:
            ways.append(Option(24, 0, 0, "streamed", 0, 20, 0))
        return ways


WEIGHTS = (10, 15, 30), (0, 40, 40), (50, 5, 5)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_loads_come_in_loops_where_nothing_hides_them(weights: Sequence[int]):
    model = Loading(weights)
    found = search_schedule(CHAIN, model).schedule
    ways = product(
        *(model.options_of_group(1 << n, EMPTY) for n in range(len(weights)))
    )
    assert found.time == min(map(total_time_of_groups, ways))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_schedules_take_what_their_steps_take(strategy: str):
    for weights in WEIGHTS:
        for streamed in (False, True):
            found = search_schedule(
                CHAIN, Loading(weights, streamed), strategy
            ).schedule
            assert found.time == total_time_of_groups(
                step.option for step in found.steps
            )


def test_alternatives_wait_for_early_moves_too():
    result = search_schedule(
        CHAIN, Loading((10, 15, 30), streamed=False), alternatives=3
    )
    for others in result.alternatives:
        assert all(each.time >= result.schedule.time for each in others)
