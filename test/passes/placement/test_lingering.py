"""Lifetimes that go on after they end, where there is room."""

import random

from tlf.passes.placement import Buffer, faults, lingering, live_bytes, pack, ranked
from tlf.passes.placement.restarts import Budget


def ends_of(buffers: list[Buffer]) -> list[int]:
    return [span.end for each in buffers for span in each.spans]


def test_a_buffer_stays_where_the_next_ones_have_room_beside_it():
    buffers = [Buffer.during(256, step, step + 1) for step in range(4)]
    assert ends_of(lingering(buffers, 512, 8)) == [2, 3, 4, 4]
    assert ends_of(lingering(buffers, 768, 8)) == [3, 4, 4, 4]
    assert ends_of(lingering(buffers, 768, 1)) == [2, 3, 4, 4]


def test_a_buffer_goes_where_they_have_none():
    buffers = [Buffer.during(256, 0, 1), Buffer.during(512, 1, 2)]
    assert lingering(buffers, 767, 8) == buffers
    assert ends_of(lingering(buffers, 768, 8)) == [2, 2]


def test_what_a_buffer_takes_is_aligned():
    buffers = [Buffer.during(257, 0, 1), Buffer.during(256, 1, 2)]
    assert lingering(buffers, 767, 1) == buffers
    assert ends_of(lingering(buffers, 768, 1)) == [2, 2]


def test_no_more_is_live_at_once_than_there_is_room_for():
    numbers = random.Random(3)
    for _ in range(200):
        found: list[Buffer] = []
        for _ in range(numbers.randrange(1, 12)):
            start = numbers.randrange(30)
            end = start + numbers.randrange(1, 6)
            found.append(Buffer.during(256 * numbers.randrange(1, 5), start, end))
        buffers = ranked(found)
        capacity = live_bytes(buffers) + 256 * numbers.randrange(4)
        longer = lingering(buffers, capacity, numbers.randrange(9))
        assert live_bytes(longer) <= capacity
        for before, after in zip(ends_of(buffers), ends_of(longer), strict=True):
            assert before <= after
        assert not list(faults(buffers, pack(longer, Budget()).offsets))


def test_nothing_lingers_for_no_time():
    buffers = [Buffer.during(256, 0, 1), Buffer.during(256, 1, 2)]
    assert lingering(buffers, 1024, 0) == buffers
    assert lingering([], 1024, 8) == []
