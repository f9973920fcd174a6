"""Lifetimes as long as loops, where everything in the loop fits side by side."""

import random
from time import process_time

from tlf.support.allocation import Buffer, extend_lifetimes, max_live_bytes


def span_of(buffer: Buffer) -> tuple[int, int]:
    (span,) = buffer.spans
    return span.start, span.end


def test_buffers_live_for_the_outermost_loop_that_has_room():
    loops = [(0, 20), (2, 8)]
    buffers = [Buffer.live_during(256, 3, 4), Buffer.live_during(256, 5, 6)]
    wide = extend_lifetimes(buffers, [loops, loops], 512)
    assert [span_of(each) for each in wide] == [(0, 20), (0, 20)]


def test_where_a_loop_is_too_large_an_inner_one_counts():
    outer, first, second = (0, 20), (1, 8), (10, 18)
    buffers = [
        Buffer.live_during(256, 2, 3),
        Buffer.live_during(256, 4, 5),
        Buffer.live_during(512, 11, 12),
        Buffer.live_during(512, 13, 14),
    ]
    loops = [[outer, first], [outer, first], [outer, second], [outer, second]]
    wide = extend_lifetimes(buffers, loops, 512)
    assert [span_of(each) for each in wide] == [first, first, (11, 12), (13, 14)]


def test_a_buffer_from_outside_of_a_loop_takes_room_in_it():
    loop = (2, 8)
    buffers = [
        Buffer.live_during(256, 0, 30),
        Buffer.live_during(256, 3, 4),
        Buffer.live_during(1, 5, 6),
    ]
    wide = extend_lifetimes(buffers, [[], [loop], [loop]], 768)
    assert [span_of(each) for each in wide] == [(0, 30), loop, loop]
    assert extend_lifetimes(buffers, [[], [loop], [loop]], 767) == buffers


def test_no_more_is_live_at_once_than_there_is_room_for():
    numbers = random.Random(7)
    for _ in range(200):
        buffers: list[Buffer] = []
        loops: list[list[tuple[int, int]]] = []
        for _ in range(numbers.randrange(1, 12)):
            low = numbers.randrange(3)
            start = 20 * low + numbers.randrange(2, 15)
            end = start + numbers.randrange(1, 4)
            buffers.append(
                Buffer.live_during(256 * numbers.randrange(1, 5), start, end)
            )
            loops.append([(0, 60), (20 * low, 20 * low + 19)])
        capacity = max_live_bytes(buffers) + 256 * numbers.randrange(8)
        wide = extend_lifetimes(buffers, loops, capacity)
        assert max_live_bytes(wide) <= capacity
        for before, after in zip(buffers, wide, strict=True):
            assert span_of(after)[0] <= span_of(before)[0]
            assert span_of(after)[1] >= span_of(before)[1]


def test_a_loop_takes_as_long_among_many():
    """Not longer by how many loops there are."""

    def seconds(count: int) -> float:
        loops = [[(20 * number, 20 * number + 19)] for number in range(count)]
        buffers = [Buffer.live_during(256, low + 2, low + 4) for ((low, _),) in loops]
        start = process_time()
        wide = extend_lifetimes(buffers, loops, 256)
        assert [span_of(each) for each in wide] == [loop for (loop,) in loops]
        return process_time() - start

    few = min(seconds(500) for _ in range(5))
    assert min(seconds(8000) for _ in range(3)) < 4 * 16 * few
