"""
Pairwise verification of allocated buffer offsets against their definition, without IR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tlf.support.allocation.allocation_fault import AllocationFault
from tlf.support.allocation.buffer_model import Buffer


def find_offset_faults(
    buffers: Sequence[Buffer], offsets: Sequence[int], capacity: int | None = None
) -> Iterator[AllocationFault]:
    """
    Yield a fault for each constraint that the offsets of buffers violate.

    Every pair is compared, which takes about a second for some thousand buffers.
    """
    if len(offsets) != len(buffers):
        yield AllocationFault(f"expected {len(buffers)} offsets, got {len(offsets)}")
        return
    for index, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        yield from _check_single_buffer(index, buffer, offset, offsets)
        if capacity is not None and offset + buffer.size > capacity:
            end = offset + buffer.size
            yield AllocationFault(
                f"buffer {{}} ends at byte {end} of {capacity}", index
            )
    roots = [_outermost_buffer_of(buffers, index) for index in range(len(buffers))]
    for one, other in combinations(range(len(buffers)), 2):
        if roots[one] != roots[other] and _has_overlap(
            buffers[one], offsets[one], buffers[other], offsets[other]
        ):
            text = "buffers {} and {} share bytes while both are live"
            yield AllocationFault(text, one, other)


def _check_single_buffer(
    buffer_index: int, buffer: Buffer, offset: int, offsets: Sequence[int]
) -> Iterator[AllocationFault]:
    """
    Yield the faults of one offset: negative, misaligned, not the fixed offset, or not
    at its distance in the enclosing buffer.
    """
    if offset < 0:
        yield AllocationFault(f"buffer {{}} starts at byte {offset}", buffer_index)
    if offset % buffer.alignment:
        text = f"buffer {{}} at {offset} is not aligned to {buffer.alignment} bytes"
        yield AllocationFault(text, buffer_index)
    if buffer.offset is not None and offset != buffer.offset:
        yield AllocationFault(
            f"buffer {{}} is at {offset}, expected {buffer.offset}", buffer_index
        )
    if buffer.enclosing is not None:
        other, distance = buffer.enclosing
        if offset != offsets[other] + distance:
            text = f"buffer {{}} is not at byte {distance} of buffer {{}}"
            yield AllocationFault(text, buffer_index, other)


def _outermost_buffer_of(buffers: Sequence[Buffer], buffer_index: int) -> int:
    """Return the index of the last buffer in the chain of `enclosing` buffers."""
    within = buffers[buffer_index].enclosing
    while within is not None:
        buffer_index = within[0]
        within = buffers[buffer_index].enclosing
    return buffer_index


def _has_overlap(
    buffer: Buffer, offset: int, other_buffer: Buffer, other_offset: int
) -> bool:
    """
    Return `True` if live spans of two buffers at these offsets share a step and a byte.
    """
    return any(
        max(span.start, other_span.start) < min(span.end, other_span.end)
        and span.start_byte < span.end_byte
        and other_span.start_byte < other_span.end_byte
        and offset + span.start_byte < other_offset + other_span.end_byte
        and other_offset + other_span.start_byte < offset + span.end_byte
        for span in buffer.spans
        for other_span in other_buffer.spans
    )
