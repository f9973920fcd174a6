"""Nests of the cost model that are distributed over cores, without IR."""

from collections.abc import Sequence

import pytest

from tlf.planner.cost.program.instruction_nests import Buffer, LoopCounter, Nest
from tlf.planner.cost.program.loop_extrapolation import NestSweep
from tlf.planner.cost.program.slot_restarts import restarting_nest_of


class Cores:
    """Cores that record the iterations that they run; all of these take as long."""

    def __init__(self, count: int) -> None:
        self.lane_values: Sequence[dict[LoopCounter, int]] = [{} for _ in range(count)]
        self.iterations: list[int] = []
        self.time = 0

    def run_iteration(self, nest: Nest, first_slot: int, iteration_index: int) -> None:
        self.iterations.append(iteration_index)
        self.time += 1

    def save_state(self) -> list[int]:
        return [self.time]

    def restore_state(self, state: Sequence[int]) -> None:
        (self.time,) = state


def nest_of(trips: Sequence[int], cores: int) -> Nest:
    counters = tuple(LoopCounter(0, 1, each) for each in trips)
    return Nest(counters, None, core_count=cores)


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
@pytest.mark.parametrize("trips", [(1,), (7,), (1000,), (5, 6), (400, 3), (3, 400)])
def test_the_busiest_core_runs_as_many_iterations(trips: Sequence[int], cores: int):
    nest, runner = nest_of(trips, cores), Cores(cores)
    NestSweep(nest).run_nest(runner, 0)
    assert runner.time == nest.trip_count == -(-nest.iteration_count // cores)


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_iterations_that_repeat_are_skipped(cores: int):
    nest, runner = nest_of((1000,), cores), Cores(cores)
    NestSweep(nest).run_nest(runner, 0)
    assert len(runner.iterations) < 20
    assert runner.iterations[-1] == 1000 // cores - 1


def buffer_in(nest: Nest) -> Buffer:
    return Buffer("L1", 64, nest, multibuffer_nest=nest)


def test_slots_of_a_distributed_nest_start_again_with_its_region():
    region = Nest((), None, core_count=2, is_core_region=True)
    nest = nest_of((9,), 2)
    nest.surrounding_nest, nest.slot_count = region, 2
    assert restarting_nest_of(buffer_in(nest)) is region


@pytest.mark.parametrize(("trips", "continues"), [(4, True), (5, False)])
def test_inner_slots_start_again_unless_all_are_used_equally(
    trips: int, continues: bool
):
    outer, inner = nest_of((9,), 2), nest_of((trips,), 1)
    inner.surrounding_nest, inner.slot_count = outer, 2
    assert restarting_nest_of(buffer_in(inner)) is (None if continues else inner)


def test_slots_of_one_core_continue():
    nest = nest_of((9,), 1)
    nest.slot_count = 2
    assert restarting_nest_of(buffer_in(nest)) is None
