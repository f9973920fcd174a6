"""Live bytes of intervals, against a count at every step."""

import random

from tlf.support.allocation import Buffer, LiveBytes, peak_live_bytes


def test_live_bytes_at_every_step():
    numbers = random.Random(0)
    for _ in range(100):
        starts = [numbers.randrange(12) for _ in range(8)]
        intervals = [
            (start, start + numbers.randrange(6), numbers.randrange(9))
            for start in starts
        ]
        totals = [
            sum(size for start, end, size in intervals if start <= step < end)
            for step in range(20)
        ]
        live = LiveBytes(intervals)
        assert peak_live_bytes(intervals) == max(totals)
        for start in range(18):
            end = start + numbers.randrange(1, 20 - start)
            assert live.peak_during(start, end) == max(totals[start:end])
            assert live.total_during(start, end) == sum(
                size
                for low, high, size in intervals
                if low < high and low < end and start < high
            )


def test_live_bytes_of_buffers_are_aligned():
    buffers = [Buffer.live_during(300, 2, 4), Buffer.live_during(1, 4, 4)]
    assert LiveBytes.of(buffers).total_during(0, 9) == 512
