"""Placing buffers: nothing that is live together shares bytes, and little is wasted."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_problems import lowest_peak, perfect_packing

from tlf.support.allocation import (
    Allocation,
    Buffer,
    LiveSpan,
    VisitBudget,
    copies_for_unrolled_loop,
    find_offset_faults,
    max_live_bytes,
    pack_side_by_side,
    pack_to_lowest_peak,
    pack_within_capacity,
    peak_lower_bound,
)


@st.composite
def spans(draw: st.DrawFn, size: int) -> tuple[LiveSpan, ...]:
    """A lifetime: an interval, one with gaps, an arc, or only part of the bytes."""
    start = draw(st.integers(0, 30))
    end = start + draw(st.integers(0, 12))
    match draw(st.sampled_from(["whole", "whole", "gap", "arc", "window"])):
        case "gap":
            middle = draw(st.integers(start, end))
            last = draw(st.integers(middle, end))
            return (LiveSpan(start, middle, 0, size), LiveSpan(last, end, 0, size))
        case "arc":
            return Buffer.live_in_loop(size, start, end, 16).spans
        case "window":
            middle = draw(st.integers(start, end))
            low = draw(st.integers(0, size))
            high = draw(st.integers(low, size))
            return (LiveSpan(start, middle, 0, size), LiveSpan(middle, end, low, high))
        case _:
            return (LiveSpan(start, end, 0, size),)


@st.composite
def problems(draw: st.DrawFn) -> list[Buffer]:
    """Buffers of every kind."""
    buffers: list[Buffer] = []
    alignments = draw(st.sampled_from([(1,), (64,), (4, 16, 64)]))
    for number in range(draw(st.integers(0, 14))):
        size = draw(st.integers(0, 300))
        alignment = draw(st.sampled_from(alignments))
        within = None
        if number and draw(st.integers(0, 3)) == 0:
            distance = draw(st.integers(0, 4)) * max(alignments)
            within = draw(st.integers(0, number - 1)), distance
        hint = draw(st.none() | st.integers(0, 20).map(lambda n: 64 * n))
        lifetime = draw(spans(size))
        buffers.append(Buffer(size, lifetime, alignment, within, None, hint))
    return buffers


def check(buffers: list[Buffer], placement: Allocation) -> None:
    """Check that a placement is valid, and that its own figures hold."""
    assert not list(find_offset_faults(buffers, placement.offsets, placement.peak))
    ends = [
        offset + buffer.size
        for offset, buffer in zip(placement.offsets, buffers, strict=True)
    ]
    assert placement.peak == max(ends, default=0)
    assert placement.bound <= placement.peak
    assert max_live_bytes(buffers) <= placement.peak


@settings(deadline=None, max_examples=100)
@given(problems())
def test_live_buffers_are_disjoint(buffers: list[Buffer]):
    check(buffers, pack_side_by_side(buffers))
    check(buffers, pack_to_lowest_peak(buffers, VisitBudget(4_000)))


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(0, 2000))
def test_placed_within_a_capacity(buffers: list[Buffer], capacity: int):
    placement = pack_within_capacity(buffers, capacity, 20_000)
    if placement is not None:
        check(buffers, placement)
        assert placement.peak <= capacity
    else:
        assert pack_to_lowest_peak(buffers, VisitBudget(0)).peak > capacity


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("alignments", [(2,), (1, 2, 4), (1, 3, 6)])
def test_the_search_finds_the_lowest_peak(seed: int, alignments: tuple[int, ...]):
    """Of intervals, arcs and lifetimes with gaps, against trying all offsets."""
    generator = random.Random(seed)
    buffers: list[Buffer] = []
    for _ in range(generator.randint(2, 6)):
        size = generator.randint(1, 5)
        start = generator.randint(0, 8)
        end = start + generator.randint(1, 5)
        alignment = generator.choice(alignments)
        buffer = Buffer.live_in_loop(size, start, end, 8, alignment)
        if generator.random() < 0.3:
            gap = Buffer.live_in_loop(size, start + 6, start + 7, 8, alignment)
            buffer = Buffer(size, (*buffer.spans, *gap.spans), alignment)
        buffers.append(buffer)
    placement = pack_to_lowest_peak(buffers, VisitBudget(200_000))

    check(buffers, placement)
    assert placement.is_optimal
    assert placement.peak == lowest_peak(buffers)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [20, 40, 60])
def test_perfect_packings_are_found(seed: int, count: int):
    buffers = perfect_packing(seed, count)
    capacity = 64 * 256
    assert peak_lower_bound(buffers) == max_live_bytes(buffers) == capacity
    placement = pack_within_capacity(buffers, capacity, 20_000_000)

    assert placement is not None
    assert placement.is_optimal
    check(buffers, placement)


def test_what_does_not_fit_is_refused():
    buffers = perfect_packing(1, 30)
    assert pack_within_capacity(buffers, 64 * 256 - 1) is None


def test_search_beats_first_fit_on_average():
    ratios: list[float] = []
    for seed in range(10):
        generator = random.Random(seed)
        buffers: list[Buffer] = []
        for _ in range(40):
            start, size = generator.randint(0, 40), generator.randint(1, 500)
            buffers.append(
                Buffer.live_during(size, start, start + generator.randint(1, 13), 1)
            )
        ratios.append(
            pack_to_lowest_peak(buffers, VisitBudget()).peak / max_live_bytes(buffers)
        )
    assert sum(ratios) / len(ratios) < 1.03


def test_problems_too_large_for_the_budget_are_not_searched():
    """Hundreds of buffers that are live for a third of the time."""
    generator = random.Random(0)
    buffers = [
        Buffer.live_during(generator.randint(1, 9), start, start + 100, 1)
        for start in range(300)
    ]
    budget = VisitBudget(20_000)
    placement = pack_to_lowest_peak(buffers, budget)

    assert placement.method == "first fit"
    assert budget.visits == 0


def test_a_plan_is_always_the_same():
    buffers = perfect_packing(3, 60)
    assert pack_to_lowest_peak(buffers, VisitBudget()) == pack_to_lowest_peak(
        buffers, VisitBudget()
    )


def test_pipelined_values_take_several_periods():
    """A value that lives 5 steps in a loop with a period of 4 needs two buffers."""
    with pytest.raises(
        ValueError, match="expected a lifetime of at most the period of 4"
    ):
        Buffer.live_in_loop(64, 3, 8, 4)
    buffers = copies_for_unrolled_loop(64, 3, 8, 4, copies=2, alignment=64)
    assert [[(span.start, span.end) for span in each.spans] for each in buffers] == [
        [(3, 8)],
        [(7, 8), (0, 4)],
    ]
    assert (
        max_live_bytes(buffers)
        == pack_to_lowest_peak(buffers, VisitBudget()).peak
        == 128
    )


def test_arcs_around_the_end_of_a_period():
    """Three arcs of which every two meet, and no step sees all: 2 live, 3 needed."""
    buffers = [Buffer.live_in_loop(8, start, start + 4, 6, 8) for start in (0, 2, 4)]
    placement = pack_to_lowest_peak(buffers, VisitBudget())

    assert max_live_bytes(buffers) == 16
    assert placement.peak == placement.bound == 24


def test_in_place_buffers_count_once():
    total = Buffer.live_during(64, 0, 4, 64)
    part = Buffer(32, (LiveSpan(2, 9, 0, 32),), 32, enclosing=(0, 32))
    other = Buffer.live_during(32, 5, 9, 32)
    placement = pack_to_lowest_peak([total, part, other], VisitBudget())

    assert placement.offsets == (0, 32, 0)
    assert placement.peak == max_live_bytes([total, part, other]) == 64


def test_fixed_offsets_stay():
    fixed = Buffer(64, (LiveSpan(0, 9, 0, 64),), 64, offset=64)
    placement = pack_to_lowest_peak(
        [Buffer.live_during(96, 0, 3, 32), fixed], VisitBudget()
    )

    assert placement.offsets == (128, 64)


def test_hints_are_followed_where_they_lead_to_a_placement():
    buffers = [
        Buffer(10, (LiveSpan(0, 4, 0, 10),), 1, hint=90),
        Buffer(90, (LiveSpan(0, 4, 0, 90),), 1, hint=0),
    ]
    placement = pack_to_lowest_peak(buffers, VisitBudget())

    assert placement.offsets == (90, 0)
    assert placement.method == "hints"


@pytest.mark.parametrize(
    ("buffers", "message"),
    [
        ([Buffer(8, (), 1, enclosing=(0, 0))], "got a cycle at 0"),
        ([Buffer(8, (), 1, enclosing=(3, 0))], "got byte 0 of buffer 3"),
        (
            [Buffer(8, (), 4), Buffer(4, (), 4, enclosing=(0, 2))],
            "expected a distance that suits both alignments, 4 and 4",
        ),
        ([Buffer(8, (), 4, offset=2)], "expected an offset that is a multiple"),
        (
            [Buffer(8, (LiveSpan(0, 1, 0, 8),), 1, offset=at) for at in (0, 4)],
            "buffers 0 and 1 share bytes while both are live",
        ),
    ],
)
def test_contradictions_are_refused(buffers: list[Buffer], message: str):
    with pytest.raises(ValueError, match=message):
        pack_to_lowest_peak(buffers, VisitBudget())


def test_wrong_placements_are_told():
    buffers = [Buffer.live_during(8, 0, 2, 8), Buffer.live_during(8, 1, 3, 8)]
    found = list(find_offset_faults(buffers, [0, 4], 8))
    assert [str(each) for each in found] == [
        "buffer 1 at 4 is not aligned to 8 bytes",
        "buffer 1 ends at byte 12 of 8",
        "buffers 0 and 1 share bytes while both are live",
    ]
    assert (
        found[2].format_with_names("ab")
        == "buffers `a` and `b` share bytes while both are live"
    )
    assert str(*find_offset_faults(buffers, [0])) == "expected 2 offsets, got 1"


def test_nothing_to_place():
    placement = pack_to_lowest_peak([], VisitBudget())
    assert (placement.offsets, placement.peak, placement.is_optimal) == ((), 0, True)


def test_bytes_beside_what_is_rounded_up():
    """Of two buffers at one place different bytes are live: that is no conflict."""
    buffers = [
        Buffer(1, (LiveSpan(0, 1, 0, 1),), 64),
        Buffer(2, (LiveSpan(0, 1, 1, 2),), 64),
    ]
    placement = pack_to_lowest_peak(buffers, VisitBudget(4_000))

    check(buffers, placement)
    assert (placement.peak, placement.bound) == (2, 2)
