"""Check offsets of buffers against their definition, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tlf.support.allocation.allocation_fault import Fault
from tlf.support.allocation.buffer import Buffer


def find_faults(
    buffers: Sequence[Buffer], offsets: Sequence[int], capacity: int | None = None
) -> Iterator[Fault]:
    """
    Yield what is wrong with the offsets of buffers: nothing if they are right.

    Every pair is compared, which takes a second for some thousand buffers.
    """
    if len(offsets) != len(buffers):
        yield Fault(f"expected {len(buffers)} offsets, got {len(offsets)}")
        return
    for number, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        yield from _check_alone(number, buffer, offset, offsets)
        if capacity is not None and offset + buffer.size > capacity:
            end = offset + buffer.size
            yield Fault(f"buffer {{}} ends at byte {end} of {capacity}", number)
    homes = [_root_of(buffers, number) for number in range(len(buffers))]
    for one, other in combinations(range(len(buffers)), 2):
        if homes[one] != homes[other] and _has_overlap(
            buffers[one], offsets[one], buffers[other], offsets[other]
        ):
            text = "buffers {} and {} share bytes while both are live"
            yield Fault(text, one, other)


def _check_alone(
    number: int, buffer: Buffer, offset: int, offsets: Sequence[int]
) -> Iterator[Fault]:
    if offset < 0:
        yield Fault(f"buffer {{}} starts at byte {offset}", number)
    if offset % buffer.alignment:
        text = f"buffer {{}} at {offset} is not aligned to {buffer.alignment} bytes"
        yield Fault(text, number)
    if buffer.offset is not None and offset != buffer.offset:
        yield Fault(f"buffer {{}} is at {offset}, expected {buffer.offset}", number)
    if buffer.within is not None:
        other, distance = buffer.within
        if offset != offsets[other] + distance:
            text = f"buffer {{}} is not at byte {distance} of buffer {{}}"
            yield Fault(text, number, other)


def _root_of(buffers: Sequence[Buffer], number: int) -> int:
    within = buffers[number].within
    while within is not None:
        number = within[0]
        within = buffers[number].within
    return number


def _has_overlap(one: Buffer, at: int, other: Buffer, there: int) -> bool:
    return any(
        max(mine.start, its.start) < min(mine.end, its.end)
        and mine.low < mine.high
        and its.low < its.high
        and at + mine.low < there + its.high
        and there + its.low < at + mine.high
        for mine in one.spans
        for its in other.spans
    )
