"""First-fit memory allocation of blocks in a given order, without IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tlf.support.allocation.interval_overlaps import IntervalOverlaps
from tlf.support.allocation.rigid_blocks import RigidBlock

ORDERS: tuple[Callable[[RigidBlock], tuple[int, ...]], ...] = (
    lambda block: (-block.extent, _first_live_step(block)),
    lambda block: (-block.extent * _lifetime_length(block), -block.extent),
    lambda block: (-_lifetime_length(block), -block.extent),
    lambda block: (_first_live_step(block), -block.extent),
)
"""Sort keys of blocks for the order of placement."""


def allocate_first_fit(blocks: Sequence[RigidBlock], order: Iterable[int]) -> list[int]:
    """
    Return the offset of every block, placed in the given order. Blocks with a fixed
    offset are placed first, and are not checked against each other.
    """
    spans = [
        (block_index, span)
        for block_index, each in enumerate(blocks)
        for span in each.spans
    ]
    placed = IntervalOverlaps([(span.start, span.end - 1) for _, span in spans])
    spans_of: list[list[int]] = [[] for _ in blocks]
    for index, (block_index, _) in enumerate(spans):
        spans_of[block_index].append(index)
    offsets = [0] * len(blocks)
    for block_index in sorted(order, key=lambda each: blocks[each].offset is None):
        block = blocks[block_index]
        occupied: list[tuple[int, int]] = []
        for index in spans_of[block_index]:
            span = spans[index][1]
            for other in placed.find_overlapping_intervals(index):
                owner, other_span = spans[other]
                offset = offsets[owner]
                occupied.append(
                    (
                        offset + other_span.start_byte - span.end_byte,
                        offset + other_span.end_byte - span.start_byte,
                    )
                )
        offsets[block_index] = _find_lowest_offset(block, sorted(occupied))
        for index in spans_of[block_index]:
            placed.add_interval(index)
    return offsets


def peak_of(blocks: Sequence[RigidBlock], offsets: Sequence[int]) -> int:
    """Return the end of the highest block."""
    ends = (at + block.extent for block, at in zip(blocks, offsets, strict=True))
    return max(ends, default=0)


def _find_lowest_offset(
    block: RigidBlock, occupied_ranges: Iterable[tuple[int, int]]
) -> int:
    """
    Return the lowest offset that is strictly inside none of the sorted ranges
    `occupied_ranges`.
    """
    if block.offset is not None:
        return block.offset
    offset = block.align_up(0)
    for low, high in occupied_ranges:
        if offset <= low:
            break
        if high > offset:
            offset = block.align_up(high)
    return offset


def _first_live_step(block: RigidBlock) -> int:
    return min((span.start for span in block.spans), default=0)


def _lifetime_length(block: RigidBlock) -> int:
    return sum(span.end - span.start for span in block.spans)
