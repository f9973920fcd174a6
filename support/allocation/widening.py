"""Lifetimes as long as the loops that buffers are used in, where there is room."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from tlf.support.allocation.buffer import Buffer

Loops: TypeAlias = Sequence[tuple[int, int]]
"""The steps [start, end) of the loops around a buffer, outermost first."""


def widened(
    buffers: Sequence[Buffer], loops: Sequence[Loops], capacity: int
) -> list[Buffer]:
    """
    The same buffers, each live for as long as the outermost loop around it in which all
    that is used in the loop fits side by side.

    Engines that run at the same time wait for each other where tiles of one iteration,
    or of two that overlap, share bytes. Such a plan never needs more than `capacity` at
    once, but may be harder to find. `loops` belong to the buffers, and lifetimes are of
    whole buffers.
    """
    rooms = _Rooms.of(buffers)
    found: list[Buffer] = []
    for buffer, around in zip(buffers, loops, strict=True):
        fits = (loop for loop in around if rooms.needed(*loop) <= capacity)
        widest = next(fits, None)
        found.append(buffer if widest is None else buffer.lasting(*widest))
    return found


@dataclass(frozen=True)
class _Rooms:
    """The bytes of buffers that come before a step, and of those that go until one."""

    coming: _Sums
    gone: _Sums

    @staticmethod
    def of(buffers: Sequence[Buffer]) -> _Rooms:
        """Of buffers that are live at all."""
        live = [
            (min(each.start for each in spans), max(each.end for each in spans), room)
            for spans, room in ((buffer.spans, buffer.room) for buffer in buffers)
            if any(each.start < each.end for each in spans)
        ]
        return _Rooms(
            _Sums.of([(start, room) for start, _, room in live]),
            _Sums.of([(end, room) for _, end, room in live]),
        )

    def needed(self, start: int, end: int) -> int:
        """The bytes that are live at some time of the steps [start, end)."""
        return self.coming.before(end) - self.gone.before(start + 1)


@dataclass(frozen=True)
class _Sums:
    """Steps in order, with the bytes of all up to each."""

    steps: Sequence[int]
    totals: Sequence[int]

    @staticmethod
    def of(pairs: Sequence[tuple[int, int]]) -> _Sums:
        """Of some steps, each with its bytes."""
        ordered = sorted(pairs)
        totals = accumulate((size for _, size in ordered), initial=0)
        return _Sums([step for step, _ in ordered], list(totals))

    def before(self, step: int) -> int:
        """The bytes of the steps before one."""
        return self.totals[bisect_left(self.steps, step)]
