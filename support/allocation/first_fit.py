"""First-fit allocation of blocks in a given order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tlf.support.allocation.interval_overlaps import Overlaps
from tlf.support.allocation.rigid_blocks import Block

ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda block: (-block.extent, _start(block)),
    lambda block: (-block.extent * _length(block), -block.extent),
    lambda block: (-_length(block), -block.extent),
    lambda block: (_start(block), -block.extent),
)
"""Sort keys of blocks for the order of placement."""


def first_fit(blocks: Sequence[Block], order: Iterable[int]) -> list[int]:
    """
    Return the offset of every block, placed in the given order. Blocks with a fixed
    offset are placed first, and are not checked against each other.
    """
    spans = [
        (block_index, span)
        for block_index, each in enumerate(blocks)
        for span in each.spans
    ]
    placed = Overlaps([(span.start, span.end - 1) for _, span in spans])
    spans_of: list[list[int]] = [[] for _ in blocks]
    for index, (block_index, _) in enumerate(spans):
        spans_of[block_index].append(index)
    offsets = [0] * len(blocks)
    for block_index in sorted(order, key=lambda each: blocks[each].offset is None):
        block = blocks[block_index]
        occupied: list[tuple[int, int]] = []
        for index in spans_of[block_index]:
            span = spans[index][1]
            for other in placed.find_overlapping(index):
                owner, other_span = spans[other]
                offset = offsets[owner]
                occupied.append(
                    (
                        offset + other_span.low - span.high,
                        offset + other_span.high - span.low,
                    )
                )
        offsets[block_index] = _find_lowest_offset(block, sorted(occupied))
        for index in spans_of[block_index]:
            placed.add(index)
    return offsets


def peak_of(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """Return the end of the highest block."""
    ends = (at + block.extent for block, at in zip(blocks, offsets, strict=True))
    return max(ends, default=0)


def _find_lowest_offset(block: Block, taken: Iterable[tuple[int, int]]) -> int:
    """
    Return the lowest offset that is strictly inside none of the sorted ranges `taken`.
    """
    if block.offset is not None:
        return block.offset
    offset = block.align_up(0)
    for low, high in taken:
        if offset <= low:
            break
        if high > offset:
            offset = block.align_up(high)
    return offset


def _start(block: Block) -> int:
    return min((span.start for span in block.spans), default=0)


def _length(block: Block) -> int:
    return sum(span.end - span.start for span in block.spans)
