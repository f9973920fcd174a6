"""Live ranges of the buffers of a schedule, of which each nest is examined once."""

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    FixedCost,
    Instruction,
    LoopCounter,
    Nest,
)
from tlf.planner.cost.program.live_ranges import LiveRangeAnalysis


def instruction(reads: Buffer | None, writes: Buffer) -> Instruction:
    accesses = () if reads is None else (BufferAccess(reads),)
    return Instruction(FixedCost(()), 0, accesses, (BufferAccess(writes),))


def test_buffers_from_outside_of_a_loop_are_live_in_all_of_it():
    outer = Nest((LoopCounter(0, 1, 4),), None)
    inner = Nest((LoopCounter(0, 1, 2),), outer)
    outside, local = Buffer("L1", 64, None), Buffer("L1", 64, outer)
    inner.body = [instruction(local, outside)]
    outer.body = [instruction(None, local), inner]
    items = [instruction(None, outside), outer]

    ranges = LiveRangeAnalysis().ranges_of(items)

    assert ranges.nest_ranges == {outer: (1, 6), inner: (3, 5)}
    assert ranges.buffer_ranges == {outside: (0, 6), local: (2, 5)}
    assert ranges.first_uses[local] is outer.body[0]
    assert ranges.last_uses[local] is inner.body[0]


def test_nests_that_changed_are_examined_again():
    nest = Nest((LoopCounter(0, 1, 4),), None)
    inner = Nest((LoopCounter(0, 1, 2),), nest)
    one, other = Buffer("L1", 64, inner), Buffer("L1", 64, inner)
    inner.body = [instruction(None, one), instruction(None, other)]
    nest.body = [inner]
    analysis = LiveRangeAnalysis()
    assert analysis.ranges_of([nest]).buffer_ranges == {one: (2, 2), other: (3, 3)}

    inner.body.reverse()
    analysis.forget_nest(inner)

    assert analysis.ranges_of([nest]) == LiveRangeAnalysis().ranges_of([nest])
    assert analysis.ranges_of([nest]).buffer_ranges == {one: (3, 3), other: (2, 2)}
