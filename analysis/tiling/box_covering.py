"""
Analysis of boxes whose offsets depend on loops: boxes that cover them in all
iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeAlias

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.support.affine.index_access import AffineSum, Box, Interval

SymbolRanges: TypeAlias = Mapping[Hashable, tuple[int, int]]
"""Smallest and largest value of every induction variable."""


def is_box_moved_by(box: Box, loops: Collection[TileLoop]) -> bool:
    """
    Return `True` if the offset of a box depends on the induction variable of one of the
    loops.
    """
    for interval in box:
        for symbol, _ in interval.offset.terms:
            if symbol in loops:
                return True
    return False


def innermost_moving_depth(box: Box, loops: Sequence[TileLoop]) -> int:
    """
    Return the depth of the innermost loop that moves a box; 0 if no loop does. `loops`
    are given outermost first.
    """
    moving = symbols_of_box(box)
    for depth in range(len(loops), 0, -1):
        if loops[depth - 1] in moving:
            return depth
    return 0


def symbols_of_box(box: Box) -> set[Hashable]:
    """Return the induction variables that the offset of a box depends on."""
    return {symbol for interval in box for symbol, _ in interval.offset.terms}


def cover_box_over_iterations(box: Box, loops: Collection[TileLoop]) -> Box:
    """Return the box that covers `box` in every iteration of the given loops."""
    if not loops or not is_box_moved_by(box, loops):
        return box
    covering: list[Interval] = []
    for interval in box:
        offset, size = AffineSum(interval.offset.constant), interval.size
        for symbol, factor in interval.offset.terms:
            if symbol in loops and isinstance(symbol, TileLoop):
                offset += min(0, factor * symbol.last_start)
                size += abs(factor * symbol.last_start)
            else:
                offset += AffineSum.of_symbol(symbol) * factor
        covering.append(Interval(offset, size, interval.capacity))
    return tuple(covering)


def hull_of_boxes(boxes: Sequence[Box], ranges: SymbolRanges) -> Box:
    """
    Return the bounding box of several boxes. Along axes where the distance of two boxes
    is not constant, it covers them in all iterations.
    """
    hull = boxes[0]
    for box in boxes[1:]:
        hull = tuple(
            a.hull(b) or _hull_of_intervals(a, b, ranges)
            for a, b in zip(hull, box, strict=True)
        )
    return hull


def is_always_covering(outer: Box, inner: Box, ranges: SymbolRanges) -> bool:
    """Return `True` if `outer` contains all of `inner` in every iteration."""
    if outer is inner:
        return True
    for a, b in zip(outer, inner, strict=True):
        if a is b:
            continue
        if a.offset == b.offset and b.size <= a.size:
            continue
        least, greatest = (b.offset - a.offset).value_bounds(ranges)
        if least < 0 or greatest + b.size > a.size:
            return False
    return True


def _hull_of_intervals(
    left: Interval, right: Interval, ranges: SymbolRanges
) -> Interval:
    """
    Return the interval at a constant offset that covers two intervals in all
    iterations.
    """
    bounds = [each.offset.value_bounds(ranges) for each in (left, right)]
    first = min(least for least, _ in bounds)
    sizes = (left.size, right.size)
    last = max(end + size for (_, end), size in zip(bounds, sizes, strict=True))
    return Interval(AffineSum(first), last - first)
