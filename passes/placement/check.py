"""
What is wrong with a placement, told from the definition alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tlf.passes.placement.buffer import Buffer


def faults(
    buffers: Sequence[Buffer], offsets: Sequence[int], capacity: int | None = None
) -> Iterator[str]:
    """
    Yield what is wrong with the offsets of buffers, one line each: none if it is right.

    Every pair is compared, which takes a second for some thousand buffers.
    """
    if len(offsets) != len(buffers):
        yield f"expected {len(buffers)} offsets, got {len(offsets)}"
        return
    for number, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        yield from _alone(number, buffer, offset, offsets)
        if capacity is not None and offset + buffer.size > capacity:
            yield f"buffer {number} ends at byte {offset + buffer.size} of {capacity}"
    homes = [_home(buffers, number) for number in range(len(buffers))]
    for one, other in combinations(range(len(buffers)), 2):
        if homes[one] != homes[other] and _clash(
            buffers[one], offsets[one], buffers[other], offsets[other]
        ):
            yield f"buffers {one} and {other} share bytes while both are live"


def _alone(
    number: int, buffer: Buffer, offset: int, offsets: Sequence[int]
) -> Iterator[str]:
    if offset < 0:
        yield f"buffer {number} starts at byte {offset}"
    if offset % buffer.alignment:
        yield f"buffer {number} at {offset} is not aligned to {buffer.alignment} bytes"
    if buffer.offset is not None and offset != buffer.offset:
        yield f"buffer {number} is at {offset}, expected {buffer.offset}"
    if buffer.within is not None:
        other, distance = buffer.within
        if offset != offsets[other] + distance:
            yield f"buffer {number} is not at byte {distance} of buffer {other}"


def _home(buffers: Sequence[Buffer], number: int) -> int:
    within = buffers[number].within
    while within is not None:
        number = within[0]
        within = buffers[number].within
    return number


def _clash(one: Buffer, at: int, other: Buffer, there: int) -> bool:
    return any(
        max(mine.start, its.start) < min(mine.end, its.end)
        and mine.low < mine.high
        and its.low < its.high
        and at + mine.low < there + its.high
        and there + its.low < at + mine.high
        for mine in one.spans
        for its in other.spans
    )
