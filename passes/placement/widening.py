"""Lifetimes as long as the loops that buffers are used in, where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tlf.passes.placement.buffer import Buffer, Span

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
    has_room: dict[tuple[int, int], bool] = {}

    def fits(start: int, end: int) -> bool:
        if (start, end) not in has_room:
            needed = sum(each.room for each in buffers if _meets(each, start, end))
            has_room[start, end] = needed <= capacity
        return has_room[start, end]

    found: list[Buffer] = []
    for buffer, around in zip(buffers, loops, strict=True):
        widest = next((loop for loop in around if fits(*loop)), None)
        found.append(buffer if widest is None else buffer.lasting(*widest))
    return found


def _meets(buffer: Buffer, start: int, end: int) -> bool:
    return any(span.meets(Span(start, end, 0, 0)) for span in buffer.spans)
