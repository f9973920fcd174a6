"""Pairwise verification of the offsets of buffers against their definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tlf.support.allocation.allocation_fault import Fault
from tlf.support.allocation.buffer import Buffer


def find_faults(
    buffers: Sequence[Buffer], offsets: Sequence[int], capacity: int | None = None
) -> Iterator[Fault]:
    """
    Yield the errors in the offsets of buffers.

    Every pair is compared, which takes about a second for some thousand buffers.
    """
    if len(offsets) != len(buffers):
        yield Fault(f"expected {len(buffers)} offsets, got {len(offsets)}")
        return
    for index, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        yield from _check_alone(index, buffer, offset, offsets)
        if capacity is not None and offset + buffer.size > capacity:
            end = offset + buffer.size
            yield Fault(f"buffer {{}} ends at byte {end} of {capacity}", index)
    roots = [_root_of(buffers, index) for index in range(len(buffers))]
    for one, other in combinations(range(len(buffers)), 2):
        if roots[one] != roots[other] and _has_overlap(
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
        max(span.start, other_span.start) < min(span.end, other_span.end)
        and span.low < span.high
        and other_span.low < other_span.high
        and at + span.low < there + other_span.high
        and there + other_span.low < at + span.high
        for span in one.spans
        for other_span in other.spans
    )
