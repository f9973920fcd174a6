"""Lifetimes that go on after they end, where there is room."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.passes.placement.buffer import Buffer


def lingering(buffers: Sequence[Buffer], capacity: int, steps: int) -> list[Buffer]:
    """
    The same buffers, each live for up to so many steps longer, as long as all that is
    live fits into `capacity`.

    What is moved into bytes that were just in use waits for the moves that still use
    them. Such a plan never needs more than `capacity` at once, but may be harder to
    find. Lifetimes are of whole buffers and have no gaps.
    """
    starts = [min(span.start for span in each.spans) for each in buffers]
    ends = [max(span.end for span in each.spans) for each in buffers]
    last = max(ends, default=0)
    live = [0] * last
    for buffer, start, end in zip(buffers, starts, ends, strict=True):
        for step in range(start, end):
            live[step] += buffer.room
    for _ in range(steps):
        for number in sorted(range(len(buffers)), key=ends.__getitem__):
            end, room = ends[number], buffers[number].room
            if end < last and live[end] + room <= capacity:
                live[end] += room
                ends[number] += 1
    return [
        each.lasting(start, end)
        for each, start, end in zip(buffers, starts, ends, strict=True)
    ]
