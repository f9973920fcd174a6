"""The table of overlapping intervals against looking at every pair."""

import random

import pytest

from tlf.support.allocation.interval_overlaps import IntervalOverlaps


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30, 61])
@pytest.mark.parametrize("seed", range(10))
def test_overlaps_are_those_of_every_pair(seed: int, count: int):
    generator = random.Random(seed)
    intervals: list[tuple[int, int]] = []
    for _ in range(count):
        start = generator.randint(-5, 40)
        intervals.append((start, start + generator.choice([0, 1, 5, 60])))
    table = IntervalOverlaps(intervals)
    added: list[int] = []
    for number in generator.sample(range(count), count):
        start, end = intervals[number]
        expected = [
            n for n in added if intervals[n][0] <= end >= start <= intervals[n][1]
        ]
        assert sorted(table.find_overlapping_intervals(number)) == sorted(expected)
        table.add_interval(number)
        added.append(number)
