"""Sections of time between starts of live ranges, and blocks as shapes over them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlf.support.allocation.rigid_blocks import Block


@dataclass(frozen=True)
class Shape:
    """
    A block over sections: ranges [first, last) with the bytes it reaches up to there.
    """

    number: int
    """Number of the block."""
    block: Block
    ranges: tuple[tuple[int, int, int], ...]
    """In ascending order, apart. Bytes are multiples of the grain."""
    is_flat: bool
    """
    True if it takes, in every section, exactly the bytes from its start up to its
    height there.
    """

    @property
    def first(self) -> int:
        """The first section it is live in."""
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The section after the last it is live in."""
        return self.ranges[-1][1]

    @property
    def length(self) -> int:
        """In how many sections it is live."""
        return sum(last - first for first, last, _ in self.ranges)

    @property
    def height(self) -> int:
        """The most bytes it takes."""
        return max(height for *_, height in self.ranges)


def shapes_of(blocks: Sequence[Block], grain: int) -> tuple[list[Shape], int]:
    """
    Return the shapes of the blocks that are live at all, and the number of sections.

    A span has the sections at whose first step it is live. Two spans that meet have one
    in common, because one of them is live at the start of the other.
    """
    steps = sorted({span.start for block in blocks for span in block.spans})
    shapes = [
        _build_shape(number, block, steps, grain)
        for number, block in enumerate(blocks)
        if block.spans
    ]
    return shapes, len(steps)


def _build_shape(number: int, block: Block, steps: Sequence[int], grain: int) -> Shape:
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
        for span in sorted(live, key=lambda each: each.low):
            is_flat = is_flat and span.low <= top
            top = max(top, span.high)
        height = -(-top // grain) * grain
        if ranges and ranges[-1][1:] == (first, height):
            ranges[-1] = (ranges[-1][0], last, height)
        else:
            ranges.append((first, last, height))
    return Shape(number, block, tuple(ranges), is_flat)
