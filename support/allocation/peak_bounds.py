"""Lower bounds on the peak memory of every allocation, without IR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tlf.support.allocation.buffer_model import Buffer, LiveSpan, align_offset
from tlf.support.allocation.live_intervals import LiveInterval, peak_live_bytes
from tlf.support.allocation.rigid_blocks import RigidBlock, group_into_rigid_blocks

UNKNOWN = 1 << 80
"""
More bytes than any memory has: excludes steps at which the rounded sum is no lower
bound.
"""


def max_live_bytes(buffers: Sequence[Buffer]) -> int:
    """
    Return the maximum of the bytes that are live at one step, shared bytes counted
    once.
    """
    is_disjoint = all(buffer.enclosing is None for buffer in buffers)
    return peak_live_bytes(
        interval
        for each in (buffers if is_disjoint else group_into_rigid_blocks(buffers))
        for interval in live_intervals_of(each.spans)
    )


def peak_bound_of_blocks(blocks: Sequence[RigidBlock], grain: int) -> int:
    """
    Return a lower bound on the bytes of every placement whose offsets are multiples of
    `grain`.

    The buffers that are live at one step are in some order in memory. Each but the last
    one also takes the bytes that round its size up to `grain`, provided that its live
    bytes start at its first byte: otherwise another buffer may occupy the rounding.
    """
    plain: list[LiveInterval] = []
    rounded: list[LiveInterval] = []
    max_end = unused = 0
    for block in blocks:
        max_end = max(max_end, block.extent + (block.offset or block.residue))
        for start, end, count in live_intervals_of(block.spans):
            plain.append((start, end, count))
            if not _is_prefix_live_at_step(block.spans, start, count):
                rounded.append((start, end, -UNKNOWN))
                continue
            size = align_offset(count, grain)
            rounded.append((start, end, size))
            unused = max(unused, size - count)
    return max(max_end, peak_live_bytes(plain), peak_live_bytes(rounded) - unused)


def _is_prefix_live_at_step(spans: Sequence[LiveSpan], step: int, count: int) -> bool:
    """Return `True` if the live bytes at a step are exactly the first `count` bytes."""
    highs = (span.end_byte for span in spans if span.start <= step < span.end)
    return max(highs, default=0) == count


def live_intervals_of(spans: Sequence[LiveSpan]) -> Iterator[LiveInterval]:
    """Yield the intervals in which bytes are live, shared bytes counted once."""
    if len(spans) == 1:
        (span,) = spans
        yield span.start, span.end, span.end_byte - span.start_byte
        return
    steps = sorted({step for span in spans for step in (span.start, span.end)})
    for start, end in pairwise(steps):
        live = [span for span in spans if span.start <= start < span.end]
        if live:
            yield start, end, _count_bytes_of_spans(live)


def _count_bytes_of_spans(spans: Iterable[LiveSpan]) -> int:
    """Return the number of bytes in the union of the byte ranges of spans."""
    count = top = 0
    for span in sorted(spans, key=lambda each: each.start_byte):
        count += max(0, span.end_byte - max(top, span.start_byte))
        top = max(top, span.end_byte)
    return count
