"""Possible orders of a schedule, and the values resident in the level in each."""

from collections.abc import Sequence

from tlf.planner.partition.step_orders import StepOrders
from tlf.support.partition import (
    Context,
    CostModel,
    Node,
    Option,
    Problem,
    Schedule,
    Step,
    Value,
    search,
)

#        0 ── 1 ── 3
#        └─── 2 ── 4
NODES = (
    Node((0,), (1,), "a"),
    Node((1,), (2,), "b"),
    Node((1,), (3,), "c"),
    Node((2,), (4,), "d"),
    Node((3,), (5,), "e"),
)
VALUES = (
    *(Value(8) for _ in range(4)),
    Value(8, is_output=True),
    Value(8, is_output=True),
)


class ByRoom(CostModel):
    """Takes what others take, and what is there, as the time of a group."""

    def __init__(self, room: int) -> None:
        self.room = room

    def options(self, group: int, context: Context) -> Sequence[Option]:
        if context.occupied > self.room:
            return []
        return [Option(1 + context.occupied, 0, 0, context.sets)]


def problem() -> Problem:
    return Problem(NODES, VALUES, 64)


def schedule() -> Schedule:
    """Each operation alone, in order, all of what they hand on in the level."""
    wanted = [
        Step(1, Context(0, 0b10, 0, 0), Option(1, 0, 0)),
        Step(2, Context(0b10, 0b110, 0, 0), Option(1, 0, 0)),
        Step(4, Context(0b10, 0b1000, 0, 8), Option(1, 0, 0)),
        Step(8, Context(0b100, 0, 0b10000, 8), Option(1, 0, 0)),
        Step(16, Context(0b1000, 0, 0b100000, 0), Option(1, 0, 0)),
    ]
    return Schedule.of(wanted)


def test_independent_neighbours_are_exchanged():
    found = list(StepOrders(problem(), ByRoom(64)).swap_neighbours(schedule()))
    assert [way.groups for way in found] == [
        (1, 4, 2, 8, 16),
        (1, 2, 8, 4, 16),
        (1, 2, 4, 16, 8),
    ]


def test_what_stays_follows():
    """
    Inputs of both groups stay after the first of them, and so do results of either.
    """
    first, _, second = StepOrders(problem(), ByRoom(64)).swap_neighbours(schedule())

    _, two, one, *rest = first.steps
    assert two.context == Context(0b10, 0b1010, 0, 0)
    assert one.context == Context(0b10, 0b100, 0, 8)
    assert [step.context for step in rest] == [
        step.context for step in schedule().steps[3:]
    ]
    assert second.steps[3].context == Context(0b1000, 0, 0b100000, 8)
    assert second.steps[4].context == Context(0b100, 0, 0b10000, 0)
    assert first.time == sum(step.option.time for step in first.steps)


def test_what_has_no_room_is_left_out():
    """Only `c` and `d` keep nothing more from each other than before."""
    (found,) = StepOrders(problem(), ByRoom(0)).swap_neighbours(schedule())
    assert found.groups == (1, 2, 8, 4, 16)


def test_what_is_loaded_stays_for_the_other_one():
    """Both read what the graph is given; the first one to run loads it."""
    nodes = (Node((0,), (1,)), Node((0,), (2,)))
    values = (Value(8), Value(8, is_output=True), Value(8, is_output=True))
    stated = Problem(nodes, values, 64)
    way = Schedule.of(
        [
            Step(1, Context(0, 0b1, 0b10, 0), Option(1, 0, 0)),
            Step(2, Context(0b1, 0, 0b100, 0), Option(1, 0, 0)),
        ]
    )
    (found,) = StepOrders(stated, ByRoom(64)).swap_neighbours(way)
    assert [step.context for step in found.steps] == [
        Context(0, 0b1, 0b100, 0),
        Context(0b1, 0, 0b10, 0),
    ]


def test_orders_of_what_a_search_finds_can_run():
    costs = ByRoom(64)
    best = search(problem(), costs).schedule
    for way in StepOrders(problem(), costs).swap_neighbours(best):
        assert sorted(way.groups) == sorted(best.groups)
