"""Loops of the compiled program in the schedule of the cost model."""

from tlf.planner.cost.program.instruction_nests import LoopCounter, Nest
from tlf.planner.cost.program.schedule_block import ScheduleLoop

ROWS, COLUMNS = LoopCounter(0, 1, 4), LoopCounter(0, 1, 3)


def test_counted_loops_are_loops_of_their_own():
    nest = Nest((ROWS, COLUMNS), None)
    outer, inner = ScheduleLoop.loops_of_nest(nest)
    assert (outer.counters, outer.inner_trip_count) == ((ROWS,), 3)
    assert (inner.counters, inner.inner_trip_count) == ((COLUMNS,), 1)


def test_a_normalized_nest_is_one_loop():
    nest = Nest((ROWS, COLUMNS), None, is_normalized=True)
    (loop,) = ScheduleLoop.loops_of_nest(nest)
    assert (loop.counters, loop.inner_trip_count) == ((ROWS, COLUMNS), 1)
