"""Lower bounds on the peak memory of every allocation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tlf.support.allocation.buffer import Buffer, Span, align
from tlf.support.allocation.live_intervals import LiveInterval, peak_live_bytes
from tlf.support.allocation.rigid_blocks import Block, blocks_of

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
    is_disjoint = all(buffer.within is None for buffer in buffers)
    return peak_live_bytes(
        interval
        for each in (buffers if is_disjoint else blocks_of(buffers))
        for interval in live_intervals_of(each.spans)
    )


def lower_bound(blocks: Sequence[Block], grain: int) -> int:
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
            if not _is_live_prefix(block.spans, start, count):
                rounded.append((start, end, -UNKNOWN))
                continue
            size = align(count, grain)
            rounded.append((start, end, size))
            unused = max(unused, size - count)
    return max(max_end, peak_live_bytes(plain), peak_live_bytes(rounded) - unused)


def _is_live_prefix(spans: Sequence[Span], step: int, count: int) -> bool:
    """Return `True` if the live bytes at a step are exactly the first `count` bytes."""
    highs = (span.high for span in spans if span.start <= step < span.end)
    return max(highs, default=0) == count


def live_intervals_of(spans: Sequence[Span]) -> Iterator[LiveInterval]:
    """Yield the intervals in which bytes are live, shared bytes counted once."""
    if len(spans) == 1:
        (span,) = spans
        yield span.start, span.end, span.high - span.low
        return
    steps = sorted({step for span in spans for step in (span.start, span.end)})
    for start, end in pairwise(steps):
        live = [span for span in spans if span.start <= start < span.end]
        if live:
            yield start, end, _union_size(live)


def _union_size(spans: Iterable[Span]) -> int:
    count = top = 0
    for span in sorted(spans, key=lambda each: each.low):
        count += max(0, span.high - max(top, span.low))
        top = max(top, span.high)
    return count
