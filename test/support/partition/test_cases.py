"""Graphs put together by hand, on which strategies differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from search_replay import check

from tlf.support.partition import (
    CostModel,
    Limits,
    NoScheduleError,
    Option,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    ResidencyContext,
    elements_of_mask,
    mask_of,
    search_schedule,
)
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.group_structure import GroupStructures


@dataclass
class Table(CostModel):
    """The cycles of groups by their operations; others cannot run."""

    times: Mapping[tuple[int, ...], int]

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        time = self.times.get(tuple(elements_of_mask(group)))
        return [] if time is None else [Option(time, 0, 0)]


@dataclass
class Padded(CostModel):
    """Ways to run anything, all as fast, with traffic of which so much is padding."""

    ways: Sequence[tuple[int, int]]

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        return [Option(1, moved, 0, padding=padding) for moved, padding in self.ways]


@dataclass
class Alone(CostModel):
    """Each operation by itself: a cycle per byte moved, and two more if it squeezes."""

    problem: PartitionProblem

    def objection_to_group(self, group: int) -> str | None:
        return None if group & (group - 1) == 0 else "one operation at a time"

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        number = group.bit_length() - 1
        loaded = self.problem.reads[number] & ~context.resident
        moved = self.problem.size_of(loaded) + self.problem.size_of(context.stored)
        stays = self.problem.size_of(context.resident | context.retained)
        options = [
            Option(10 + moved, moved, stays + 4),
            Option(12 + moved, moved, stays),
        ]
        free = self.problem.capacity - context.occupied_bytes
        return [option for option in options if option.footprint <= free]


def chain(count: int) -> PartitionProblem:
    nodes = tuple(ProblemOperation((n,), (n + 1,), str(n)) for n in range(count))
    values = [ProblemValue(1)] * count
    return PartitionProblem(nodes, (*values, ProblemValue(1, is_output=True)), 0)


def groups(
    problem: PartitionProblem, costs: CostModel, strategy: str
) -> list[tuple[int, ...]]:
    schedule = search_schedule(problem, costs, strategy).schedule
    check(problem, costs, schedule)
    return [tuple(elements_of_mask(group)) for group in schedule.groups]


ALONE = {(0,): 10, (1,): 10, (2,): 10, (3,): 10}


def test_cut_that_loses_at_once_wins_later():
    problem = chain(4)
    costs = Table(ALONE | {(0, 1): 15, (1, 2): 12, (2, 3): 15})

    assert groups(problem, costs, "greedy") == [(0,), (1, 2), (3,)]
    assert groups(problem, costs, "dp") == [(0, 1), (2, 3)]


def test_union_that_pays_though_its_parts_do_not():
    problem = chain(3)
    costs = Table(ALONE | {(0, 1): 21, (1, 2): 21, (0, 1, 2): 5})

    assert groups(problem, costs, "greedy") == [(0,), (1,), (2,)]
    assert groups(problem, costs, "dp") == [(0, 1, 2)]


def test_groups_need_not_follow_each_other():
    nodes = (ProblemOperation((0,), (2,), "a"), ProblemOperation((1,), (3,), "b"))
    nodes += (ProblemOperation((2,), (4,), "c"), ProblemOperation((3,), (5,), "d"))
    values = (
        *[ProblemValue(1)] * 4,
        ProblemValue(1, is_output=True),
        ProblemValue(1, is_output=True),
    )
    problem = PartitionProblem(nodes, values, 0)
    costs = Table(ALONE | {(0, 2): 11, (1, 3): 11})

    assert sorted(groups(problem, costs, "dp")) == [(0, 2), (1, 3)]
    assert search_schedule(problem, costs, "interval").schedule.time == 40
    assert search_schedule(problem, costs).schedule.time == 22


def skip(capacity: int, middle: int = 4) -> PartitionProblem:
    """Value 1, of 8 bytes, is read at once and by the last operation."""
    nodes = (
        ProblemOperation((0,), (1,), "in"),
        ProblemOperation((1,), (2,), "down"),
        ProblemOperation((2,), (3,), "middle"),
        ProblemOperation((3, 1), (4,), "out"),
    )
    sizes = (
        ProblemValue(8),
        ProblemValue(8),
        *[ProblemValue(middle)] * 2,
        ProblemValue(8, is_output=True),
    )
    return PartitionProblem(nodes, sizes, capacity)


def test_skip_stays_while_other_groups_run():
    problem = skip(24)
    schedule = search_schedule(problem, Alone(problem)).schedule

    check(problem, Alone(problem), schedule)
    assert schedule.bytes == 16
    assert all(not step.context.stored for step in schedule.steps[:3])
    assert schedule.steps[2].context.occupied_bytes == 8
    assert [step.option.time for step in schedule.steps] == [18, 10, 10, 18]


def test_groups_squeeze_so_that_the_skip_can_stay():
    """The group in the middle would be faster without it, all of them would not."""
    problem = skip(16)
    schedule = search_schedule(problem, Alone(problem)).schedule

    assert schedule.bytes == 16
    assert [step.option.time for step in schedule.steps] == [18, 10, 12, 18]


def test_skip_leaves_where_there_is_no_room():
    """It is stored at once, read from where it stays, and loaded for the last one."""
    problem = skip(22, middle=10)
    schedule = search_schedule(problem, Alone(problem)).schedule

    check(problem, Alone(problem), schedule)
    value = mask_of([1])
    first, second, _, last = (step.context for step in schedule.steps)
    assert first.stored == first.retained == second.resident == value
    assert not (second.retained | last.resident) & value
    assert schedule.bytes == 8 + 8 + 8 + 8


@dataclass
class Squeezing(Alone):
    """Alone, but the operation that reads value 2 needs all of the memory."""

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        capacity = self.problem.capacity
        if self.problem.reads[group.bit_length() - 1] != mask_of([2]):
            return super().options_of_group(group, context)
        return [] if context.occupied_bytes else [Option(10, 0, capacity)]


def test_what_fills_bursts_counts():
    found = search_schedule(chain(1), Padded([(16, 8), (12, 0)]), alternatives=1)
    assert (found.schedule.bytes, found.schedule.payload) == (12, 12)


def test_what_fills_bursts_is_told_apart():
    found = search_schedule(chain(3), Padded([(16, 8)]), "unfused", alternatives=1)
    assert (found.schedule.bytes, found.schedule.payload) == (3 * 16, 3 * 8)


def test_alternatives_tell_what_is_of_use():
    """One group or two: the others before, and to the end."""
    found = search_schedule(chain(2), Padded([(16, 4)]), alternatives=1)
    assert found.schedule.payload == 12
    ((other,),) = found.alternatives
    assert other.payload == 2 * 12


@pytest.mark.parametrize("strategy", ["dp", "beam", "greedy"])
def test_beam_does_not_retain_what_leads_nowhere(strategy: str):
    """To keep value 1 looks best at first, but nothing can run then."""
    nodes = (
        ProblemOperation((0,), (1, 2), "a"),
        ProblemOperation((2,), (3,), "b"),
        ProblemOperation((1, 3), (4,), "c"),
    )
    sizes = (
        ProblemValue(1),
        ProblemValue(8),
        ProblemValue(1),
        ProblemValue(1),
        ProblemValue(1, is_output=True),
    )
    problem = PartitionProblem(nodes, sizes, 20)
    costs = Squeezing(problem)
    schedule = search_schedule(
        problem, costs, strategy, limits=Limits(width=1)
    ).schedule

    check(problem, costs, schedule)
    assert schedule.steps[0].context.stored & mask_of([1])


def test_more_room_is_asked_for_anew():
    """An answer for little room may lack what fits into more."""
    problem = skip(24)
    costs = Alone(problem)

    def times(*taken: int) -> tuple[list[list[int]], int]:
        memo = CostMemo(costs, GroupStructures(problem))
        contexts = [
            ResidencyContext(mask_of([2]), mask_of([3]), 0, each) for each in taken
        ]
        answers = [memo.options_of_group(mask_of([2]), context) for context in contexts]
        return [[option.time for option in each] for each in answers], memo.queries

    assert times(0, 12, 14, 16, 17, 18) == ([[10], [10], [12], [12], [], []], 3)
    assert times(17, 16, 12) == ([[], [12], [10]], 3)


def test_input_stays_once_it_was_loaded():
    nodes = tuple(
        ProblemOperation((0,), (number,), str(number)) for number in (1, 2, 3)
    )
    values = (ProblemValue(8), *[ProblemValue(2, is_output=True)] * 3)
    problem = PartitionProblem(nodes, values, 20)
    schedule = search_schedule(problem, Alone(problem)).schedule

    assert schedule.bytes == 8 + 3 * 2
    assert [step.context.resident for step in schedule.steps] == [0, 1, 1]


def test_siblings_are_connected_if_wanted():
    nodes = (ProblemOperation((0,), (1,), "a"), ProblemOperation((0,), (2,), "b"))
    values = (
        ProblemValue(8),
        ProblemValue(2, is_output=True),
        ProblemValue(2, is_output=True),
    )
    costs = Table({(0,): 10, (1,): 10, (0, 1): 12})

    assert (
        search_schedule(PartitionProblem(nodes, values, 0), costs).schedule.time == 20
    )
    assert (
        search_schedule(
            PartitionProblem(nodes, values, 0, siblings=True), costs
        ).schedule.time
        == 12
    )


@pytest.mark.parametrize("strategy", ["dp", "beam", "interval", "greedy"])
def test_operation_that_cannot_run_alone(strategy: str):
    costs = Table({(0,): 10, (1, 2): 10})

    assert groups(chain(3), costs, strategy) == [(0,), (1, 2)]


@pytest.mark.parametrize("strategy", ["dp", "beam", "interval", "greedy", "unfused"])
def test_operation_that_cannot_run(strategy: str):
    costs = Table({(0,): 10, (2,): 10})
    told = {"dp": "operation 1 can run neither by itself nor in a group"}
    default = f"`{strategy}` found no schedule that runs operation 1"
    message = told.get(strategy, default)
    with pytest.raises(NoScheduleError) as error:
        search_schedule(chain(3), costs, strategy)

    assert str(error.value) == message
    assert error.value.operation == 1


def test_nothing_to_run():
    result = search_schedule(
        PartitionProblem((), (ProblemValue(1, is_output=True),), 0), Table({})
    )

    assert result.schedule.steps == ()
    assert result.statistics.exact


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            (ProblemOperation((0,), (9,)),),
            "operation 0 names value 9, expected one below 3",
        ),
        (
            (ProblemOperation((0,), (1,)), ProblemOperation((0,), (1,))),
            "value 1 is written more than once",
        ),
        (
            (ProblemOperation((1,), (2,)), ProblemOperation((0,), (1,))),
            "operation 0 reads value 1 of operation 1, expected topological order",
        ),
        (
            (ProblemOperation((0, 1), (1,)),),
            "operation 0 reads value 1 of operation 0, expected topological order",
        ),
    ],
)
def test_no_graph(nodes: tuple[ProblemOperation, ...], message: str):
    with pytest.raises(ValueError, match=message):
        PartitionProblem(nodes, (ProblemValue(1),) * 3, 0)


def test_unknown_strategy():
    with pytest.raises(ValueError, match="unknown strategy `best`, expected one of dp"):
        search_schedule(chain(1), Table({}), "best")
