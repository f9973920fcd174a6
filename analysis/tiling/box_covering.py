"""Covering of boxes that depend on loops, over all of their iterations."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeAlias

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.support.affine.index_access import AffineSum, Box, Interval

SymbolRanges: TypeAlias = Mapping[Hashable, tuple[int, int]]
"""The least and the greatest value of every induction variable."""


def is_moved_by(box: Box, loops: Collection[TileLoop]) -> bool:
    """Return `True` if the offset of a box depends on one of some loops."""
    for interval in box:
        for symbol, _ in interval.offset.terms:
            if symbol in loops:
                return True
    return False


def cover_iterations(box: Box, loops: Collection[TileLoop]) -> Box:
    """The box that covers `box` in every iteration of some loops."""
    if not loops or not is_moved_by(box, loops):
        return box
    covering: list[Interval] = []
    for interval in box:
        offset, size = AffineSum(interval.offset.constant), interval.size
        for symbol, factor in interval.offset.terms:
            if symbol in loops and isinstance(symbol, TileLoop):
                offset += min(0, factor * symbol.last_start)
                size += abs(factor * symbol.last_start)
            else:
                offset += AffineSum.of(symbol) * factor
        covering.append(Interval(offset, size, interval.capacity))
    return tuple(covering)


def hull_of(boxes: Sequence[Box], ranges: SymbolRanges) -> Box:
    """
    The box over several. Where their distance is not constant, it covers them in all
    iterations.
    """
    hull = boxes[0]
    for box in boxes[1:]:
        hull = tuple(
            a.hull(b) or _hull_over_iterations(a, b, ranges)
            for a, b in zip(hull, box, strict=True)
        )
    return hull


def is_always_covering(outer: Box, inner: Box, ranges: SymbolRanges) -> bool:
    """Return `True` if `outer` contains all of `inner` in every iteration."""
    if outer is inner:
        return True
    for mine, other in zip(outer, inner, strict=True):
        if mine is other:
            continue
        if mine.offset == other.offset and other.size <= mine.size:
            continue
        least, greatest = (other.offset - mine.offset).bounds(ranges)
        if least < 0 or greatest + other.size > mine.size:
            return False
    return True


def _hull_over_iterations(
    left: Interval, right: Interval, ranges: SymbolRanges
) -> Interval:
    ends = [each.offset.bounds(ranges) for each in (left, right)]
    first = min(least for least, _ in ends)
    sizes = (left.size, right.size)
    last = max(end + size for (_, end), size in zip(ends, sizes, strict=True))
    return Interval(AffineSum(first), last - first)
