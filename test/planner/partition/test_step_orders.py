"""Possible orders of a schedule, and the values resident in the level in each."""

from collections.abc import Sequence

from tlf.planner.partition.step_order_candidates import StepOrders
from tlf.support.partition import (
    CostModel,
    Option,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    ResidencyContext,
    Schedule,
    Step,
    search_schedule,
)

#        0 ── 1 ── 3
#        └─── 2 ── 4
NODES = (
    ProblemOperation((0,), (1,), "a"),
    ProblemOperation((1,), (2,), "b"),
    ProblemOperation((1,), (3,), "c"),
    ProblemOperation((2,), (4,), "d"),
    ProblemOperation((3,), (5,), "e"),
)
VALUES = (
    *(ProblemValue(8) for _ in range(4)),
    ProblemValue(8, is_output=True),
    ProblemValue(8, is_output=True),
)


class ByRoom(CostModel):
    """Takes what others take, and what is there, as the time of a group."""

    def __init__(self, room: int) -> None:
        self.room = room

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        if context.occupied_bytes > self.room:
            return []
        return [Option(1 + context.occupied_bytes, 0, 0, context.residency_sets)]


def problem() -> PartitionProblem:
    return PartitionProblem(NODES, VALUES, 64)


def schedule() -> Schedule:
    """Each operation alone, in order, all of what they hand on in the level."""
    wanted = [
        Step(1, ResidencyContext(0, 0b10, 0, 0), Option(1, 0, 0)),
        Step(2, ResidencyContext(0b10, 0b110, 0, 0), Option(1, 0, 0)),
        Step(4, ResidencyContext(0b10, 0b1000, 0, 8), Option(1, 0, 0)),
        Step(8, ResidencyContext(0b100, 0, 0b10000, 8), Option(1, 0, 0)),
        Step(16, ResidencyContext(0b1000, 0, 0b100000, 0), Option(1, 0, 0)),
    ]
    return Schedule.of(wanted)


def test_independent_neighbours_are_exchanged():
    found = list(
        StepOrders(problem(), ByRoom(64)).schedules_with_swapped_steps(schedule())
    )
    assert [way.groups for way in found] == [
        (1, 4, 2, 8, 16),
        (1, 2, 8, 4, 16),
        (1, 2, 4, 16, 8),
    ]


def test_what_stays_follows():
    """
    Inputs of both groups stay after the first of them, and so do results of either.
    """
    first, _, second = StepOrders(problem(), ByRoom(64)).schedules_with_swapped_steps(
        schedule()
    )

    _, two, one, *rest = first.steps
    assert two.context == ResidencyContext(0b10, 0b1010, 0, 0)
    assert one.context == ResidencyContext(0b10, 0b100, 0, 8)
    assert [step.context for step in rest] == [
        step.context for step in schedule().steps[3:]
    ]
    assert second.steps[3].context == ResidencyContext(0b1000, 0, 0b100000, 8)
    assert second.steps[4].context == ResidencyContext(0b100, 0, 0b10000, 0)
    assert first.time == sum(step.option.time for step in first.steps)


def test_what_has_no_room_is_left_out():
    """Only `c` and `d` keep nothing more from each other than before."""
    (found,) = StepOrders(problem(), ByRoom(0)).schedules_with_swapped_steps(schedule())
    assert found.groups == (1, 2, 8, 4, 16)


def test_what_is_loaded_stays_for_the_other_one():
    """Both read what the graph is given; the first one to run loads it."""
    nodes = (ProblemOperation((0,), (1,)), ProblemOperation((0,), (2,)))
    values = (
        ProblemValue(8),
        ProblemValue(8, is_output=True),
        ProblemValue(8, is_output=True),
    )
    stated = PartitionProblem(nodes, values, 64)
    way = Schedule.of(
        [
            Step(1, ResidencyContext(0, 0b1, 0b10, 0), Option(1, 0, 0)),
            Step(2, ResidencyContext(0b1, 0, 0b100, 0), Option(1, 0, 0)),
        ]
    )
    (found,) = StepOrders(stated, ByRoom(64)).schedules_with_swapped_steps(way)
    assert [step.context for step in found.steps] == [
        ResidencyContext(0, 0b1, 0b100, 0),
        ResidencyContext(0b1, 0, 0b10, 0),
    ]


def test_orders_of_what_a_search_finds_can_run():
    costs = ByRoom(64)
    best = search_schedule(problem(), costs).schedule
    for way in StepOrders(problem(), costs).schedules_with_swapped_steps(best):
        assert sorted(way.groups) == sorted(best.groups)
