"""
Sections of time between starts of live ranges, without IR, and memory blocks over them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlf.support.allocation.rigid_blocks import RigidBlock


@dataclass(frozen=True)
class BlockShape:
    """
    Block over sections: ranges [first, last) of sections, and the height in bytes in
    each.
    """

    block_index: int
    """Index of the block."""
    block: RigidBlock
    ranges: tuple[tuple[int, int, int], ...]
    """Disjoint ranges in ascending order. Heights are multiples of the grain."""
    is_flat: bool
    """
    True if the live bytes in every section are exactly those from the start of the
    block up to its height there.
    """

    @property
    def first_section(self) -> int:
        """First section in which the block is live."""
        return self.ranges[0][0]

    @property
    def end_section(self) -> int:
        """Section after the last one in which the block is live."""
        return self.ranges[-1][1]

    @property
    def section_count(self) -> int:
        """Number of sections in which the block is live."""
        return sum(last - first for first, last, _ in self.ranges)

    @property
    def max_height(self) -> int:
        """Maximum height in bytes."""
        return max(height for *_, height in self.ranges)


def block_shapes_of(
    blocks: Sequence[RigidBlock], grain: int
) -> tuple[list[BlockShape], int]:
    """
    Return the shapes of the blocks that are live at some step, and the number of
    sections.

    A span covers the sections at whose first step it is live. Two spans that overlap
    have a section in common, because one of them is live at the start of the other.
    """
    steps = sorted({span.start for block in blocks for span in block.spans})
    shapes = [
        _build_block_shape(index, block, steps, grain)
        for index, block in enumerate(blocks)
        if block.spans
    ]
    return shapes, len(steps)


def _build_block_shape(
    block_index: int, block: RigidBlock, steps: Sequence[int], grain: int
) -> BlockShape:
    """
    Convert the live spans of a block to ranges of sections, which start at `steps`,
    with heights rounded up to `grain` bytes.
    """
    spans = [
        (bisect_left(steps, span.start), bisect_left(steps, span.end), span)
        for span in block.spans
    ]
    edges = sorted({edge for first, last, _ in spans for edge in (first, last)})
    ranges: list[tuple[int, int, int]] = []
    is_flat = True
    for first, last in pairwise(edges):
        live = [span for start, end, span in spans if start <= first < end]
        if not live:
            continue
        top = 0
        for span in sorted(live, key=lambda each: each.start_byte):
            is_flat = is_flat and span.start_byte <= top
            top = max(top, span.end_byte)
        height = -(-top // grain) * grain
        if ranges and ranges[-1][1:] == (first, height):
            ranges[-1] = (ranges[-1][0], last, height)
        else:
            ranges.append((first, last, height))
    return BlockShape(block_index, block, tuple(ranges), is_flat)
