"""
Live bytes over time, without IR: intervals [start, end) of steps, each with its bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

from tlf.support.allocation.buffer_model import Buffer

LiveInterval: TypeAlias = tuple[int, int, int]
"""Start and end of an interval of steps, and the bytes that are live in it."""


def peak_live_bytes(intervals: Iterable[LiveInterval]) -> int:
    """
    Return the largest total size of intervals (start, end, bytes) that are live at
    once.
    """
    changes: list[tuple[int, int]] = []
    for start, end, size in intervals:
        changes += (start, size), (end, -size)
    maximum = live = 0
    for _, change in sorted(changes):
        live += change
        maximum = max(maximum, live)
    return maximum


class LiveBytes:
    """Index of live intervals for total and peak bytes in any range of steps."""

    def __init__(self, intervals: Iterable[LiveInterval]) -> None:
        live = [each for each in intervals if each[0] < each[1]]
        self._started = _PrefixSums([(start, size) for start, _, size in live])
        self._ended = _PrefixSums([(end, size) for _, end, size in live])

    @staticmethod
    def of(buffers: Iterable[Buffer]) -> LiveBytes:
        """Return the live bytes of buffers, each of which is live without gaps."""
        live = (
            (buffer, [span for span in buffer.spans if span.start < span.end])
            for buffer in buffers
        )
        return LiveBytes(
            (
                min(span.start for span in spans),
                max(span.end for span in spans),
                buffer.aligned_size,
            )
            for buffer, spans in live
            if spans
        )

    def total_during(self, start: int, end: int) -> int:
        """
        Return the bytes of all intervals that are live at some step in [start, end).
        """
        return self._started.sum_before(end) - self._ended.sum_before(start + 1)

    def peak_during(self, start: int, end: int) -> int:
        """Return the maximum of the bytes that are live at one step in [start, end)."""
        steps = self._started.steps
        inside = steps[bisect_left(steps, start) : bisect_left(steps, end)]
        return max(self.total_during(step, step + 1) for step in (start, *inside))


class _PrefixSums:
    """Sorted steps of (step, bytes) pairs, with prefix sums of the bytes."""

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(pairs)
        self.steps = [step for step, _ in ordered]
        self.totals = list(accumulate((size for _, size in ordered), initial=0))

    def sum_before(self, step: int) -> int:
        """Return the bytes of the steps before `step`."""
        return self.totals[bisect_left(self.steps, step)]
