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
"""Keys to sort blocks by before they are placed."""


def first_fit(blocks: Sequence[Block], order: Iterable[int]) -> list[int]:
    """
    Return the offset of every block, placed in an order. Those with an offset come
    first, and are not compared with each other.
    """
    spans = [
        (number, span) for number, each in enumerate(blocks) for span in each.spans
    ]
    placed = Overlaps([(span.start, span.end - 1) for _, span in spans])
    own: list[list[int]] = [[] for _ in blocks]
    for index, (number, _) in enumerate(spans):
        own[number].append(index)
    offsets = [0] * len(blocks)
    for number in sorted(order, key=lambda each: blocks[each].offset is None):
        block = blocks[number]
        taken: list[tuple[int, int]] = []
        for index in own[number]:
            span = spans[index][1]
            for other in placed.find_overlapping(index):
                owner, there = spans[other]
                at = offsets[owner]
                taken.append((at + there.low - span.high, at + there.high - span.low))
        offsets[number] = _find_lowest_offset(block, sorted(taken))
        for index in own[number]:
            placed.add(index)
    return offsets


def peak_of(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """Return the end of the highest block."""
    ends = (at + block.extent for block, at in zip(blocks, offsets, strict=True))
    return max(ends, default=0)


def _find_lowest_offset(block: Block, taken: Iterable[tuple[int, int]]) -> int:
    """Return the lowest offset that lies inside of none of the ranges, sorted."""
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
