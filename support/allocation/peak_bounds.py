"""Lower bounds on the peak memory of every allocation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tlf.support.allocation.buffer import Buffer, Span
from tlf.support.allocation.rigid_blocks import Block, blocks_of

UNKNOWN = 1 << 80
"""More bytes than there are: where what is rounded up says nothing."""


def max_live_bytes(buffers: Sequence[Buffer]) -> int:
    """
    Return the most bytes that are live at one step, what is shared counted once.
    """
    changes: list[tuple[int, int]] = []
    apart = all(buffer.within is None for buffer in buffers)
    for each in buffers if apart else blocks_of(buffers):
        for start, end, count in live_byte_ranges(each.spans):
            changes += (start, count), (end, -count)
    return max_prefix_sum(changes)


def lower_bound(blocks: Sequence[Block], grain: int) -> int:
    """
    Return bytes that every placement takes whose offsets are multiples of `grain`.

    What is live at one step lies in some order. After all but the last come the bytes
    that rounding it up to `grain` adds, as long as the first bytes of each are live:
    others may lie where something else is rounded up.
    """
    plain: list[tuple[int, int]] = []
    changes: list[tuple[int, int]] = []
    most = unused = 0
    for block in blocks:
        most = max(most, block.extent + (block.offset or block.residue))
        for start, end, count in live_byte_ranges(block.spans):
            plain += (start, count), (end, -count)
            rounded = -(-count // grain) * grain
            if not _is_live_prefix(block.spans, start, count):
                changes += (start, -UNKNOWN), (end, UNKNOWN)
                continue
            changes += (start, rounded), (end, -rounded)
            unused = max(unused, rounded - count)
    return max(most, max_prefix_sum(plain), max_prefix_sum(changes) - unused)


def _is_live_prefix(spans: Sequence[Span], step: int, count: int) -> bool:
    """Return `True` if the live bytes at a step are exactly the first `count` bytes."""
    highs = (span.high for span in spans if span.start <= step < span.end)
    return max(highs, default=0) == count


def max_prefix_sum(changes: Iterable[tuple[int, int]]) -> int:
    """Return the highest sum of changes, each at a step, up to some step."""
    most = live = 0
    for _, change in sorted(changes):
        live += change
        most = max(most, live)
    return most


def live_byte_ranges(spans: Sequence[Span]) -> Iterator[tuple[int, int, int]]:
    """
    Yield from which step to which how many bytes are live, where some are.
    """
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
