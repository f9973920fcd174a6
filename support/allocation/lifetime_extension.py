"""Extend lifetimes of buffers to the loops around their uses, where capacity allows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from tlf.support.allocation.buffer import Buffer

Loops: TypeAlias = Sequence[tuple[int, int]]
"""Steps [start, end) of the loops around a buffer, outermost first."""


def extend_lifetimes(
    buffers: Sequence[Buffer], loops: Sequence[Loops], capacity: int
) -> list[Buffer]:
    """
    Return the buffers, each live throughout the outermost of its loops in which all
    live bytes fit.

    Engines that run in parallel stall if tiles of one iteration, or of two overlapping
    iterations, share bytes. The extended buffers never need more than `capacity` bytes
    at one step, but may be harder to place. `loops` has one entry per buffer; every
    buffer is live as a whole.
    """
    sums = _LifetimeSums.of(buffers)
    extended: list[Buffer] = []
    for buffer, enclosing in zip(buffers, loops, strict=True):
        fits = (loop for loop in enclosing if sums.live_bytes_during(*loop) <= capacity)
        widest = next(fits, None)
        extended.append(buffer if widest is None else buffer.extend_lifetime(*widest))
    return extended


@dataclass(frozen=True)
class _LifetimeSums:
    """Prefix sums of the sizes of buffers, by start and by end of their lifetimes."""

    starting: _PrefixSums
    ending: _PrefixSums

    @staticmethod
    def of(buffers: Sequence[Buffer]) -> _LifetimeSums:
        """Return the sums over the buffers that are live at some step."""
        live = [
            (min(each.start for each in spans), max(each.end for each in spans), size)
            for spans, size in (
                (buffer.spans, buffer.aligned_size) for buffer in buffers
            )
            if any(each.start < each.end for each in spans)
        ]
        return _LifetimeSums(
            _PrefixSums.of([(start, size) for start, _, size in live]),
            _PrefixSums.of([(end, size) for _, end, size in live]),
        )

    def live_bytes_during(self, start: int, end: int) -> int:
        """
        Return the bytes of the buffers that are live at some step in [start, end).
        """
        return self.starting.sum_before(end) - self.ending.sum_before(start + 1)


@dataclass(frozen=True)
class _PrefixSums:
    """Sorted steps, and the total bytes before each of them."""

    steps: Sequence[int]
    totals: Sequence[int]

    @staticmethod
    def of(pairs: Sequence[tuple[int, int]]) -> _PrefixSums:
        """Return the prefix sums of pairs of step and bytes."""
        ordered = sorted(pairs)
        totals = accumulate((size for _, size in ordered), initial=0)
        return _PrefixSums([step for step, _ in ordered], list(totals))

    def sum_before(self, step: int) -> int:
        """Return the bytes of the steps before `step`."""
        return self.totals[bisect_left(self.steps, step)]
