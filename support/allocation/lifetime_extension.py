"""Extend lifetimes of buffers to the loops around their uses, where capacity allows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from tlf.support.allocation.buffer import Buffer

Loops: TypeAlias = Sequence[tuple[int, int]]
"""The steps [start, end) of the loops around a buffer, outermost first."""


def extend_lifetimes(
    buffers: Sequence[Buffer], loops: Sequence[Loops], capacity: int
) -> list[Buffer]:
    """
    Return the buffers, each live throughout the outermost loop in which that fits.

    Engines that run at the same time wait for each other where tiles of one iteration,
    or of two that overlap, share bytes. Such a plan never needs more than `capacity` at
    once, but may be harder to find. `loops` belong to the buffers, and lifetimes are of
    whole buffers.
    """
    rooms = _LifetimeSums.of(buffers)
    found: list[Buffer] = []
    for buffer, around in zip(buffers, loops, strict=True):
        fits = (loop for loop in around if rooms.live_bytes_during(*loop) <= capacity)
        widest = next(fits, None)
        found.append(buffer if widest is None else buffer.extend_lifetime(*widest))
    return found


@dataclass(frozen=True)
class _LifetimeSums:
    """The bytes of buffers that come before a step, and of those that go until one."""

    starting: _PrefixSums
    ending: _PrefixSums

    @staticmethod
    def of(buffers: Sequence[Buffer]) -> _LifetimeSums:
        """Of buffers that are live at all."""
        live = [
            (min(each.start for each in spans), max(each.end for each in spans), room)
            for spans, room in (
                (buffer.spans, buffer.aligned_size) for buffer in buffers
            )
            if any(each.start < each.end for each in spans)
        ]
        return _LifetimeSums(
            _PrefixSums.of([(start, room) for start, _, room in live]),
            _PrefixSums.of([(end, room) for _, end, room in live]),
        )

    def live_bytes_during(self, start: int, end: int) -> int:
        """The bytes that are live at some time of the steps [start, end)."""
        return self.starting.sum_before(end) - self.ending.sum_before(start + 1)


@dataclass(frozen=True)
class _PrefixSums:
    """Steps in order, with the bytes of all up to each."""

    steps: Sequence[int]
    totals: Sequence[int]

    @staticmethod
    def of(pairs: Sequence[tuple[int, int]]) -> _PrefixSums:
        """Of some steps, each with its bytes."""
        ordered = sorted(pairs)
        totals = accumulate((size for _, size in ordered), initial=0)
        return _PrefixSums([step for step, _ in ordered], list(totals))

    def sum_before(self, step: int) -> int:
        """The bytes of the steps before one."""
        return self.totals[bisect_left(self.steps, step)]
