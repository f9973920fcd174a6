"""Boxes that depend on loops: what covers what, for all of their iterations."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeAlias

from tlf.analysis.tiling.model import Loop
from tlf.support.affine.access import Box, Interval, Linear

Ranges: TypeAlias = Mapping[Hashable, tuple[int, int]]
"""The least and the greatest value of every induction variable."""


def moves_with(box: Box, loops: Collection[Loop]) -> bool:
    """Return `True` if the offset of a box depends on one of some loops."""
    for interval in box:
        for symbol, _ in interval.offset.terms:
            if symbol in loops:
                return True
    return False


def covering_all(box: Box, loops: Collection[Loop]) -> Box:
    """The box that covers `box` in every iteration of some loops."""
    if not loops or not moves_with(box, loops):
        return box
    covering: list[Interval] = []
    for interval in box:
        offset, size = Linear(interval.offset.constant), interval.size
        for symbol, factor in interval.offset.terms:
            if symbol in loops and isinstance(symbol, Loop):
                offset += min(0, factor * symbol.last)
                size += abs(factor * symbol.last)
            else:
                offset += Linear.of(symbol) * factor
        covering.append(Interval(offset, size, interval.capacity))
    return tuple(covering)


def hull_of(boxes: Sequence[Box], ranges: Ranges) -> Box:
    """
    The box over several. Where their distance is not constant, it covers them in all
    iterations.
    """
    hull = boxes[0]
    for box in boxes[1:]:
        hull = tuple(
            a.hull(b) or _hull_for_all(a, b, ranges)
            for a, b in zip(hull, box, strict=True)
        )
    return hull


def always_covers(outer: Box, inner: Box, ranges: Ranges) -> bool:
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


def _hull_for_all(left: Interval, right: Interval, ranges: Ranges) -> Interval:
    ends = [each.offset.bounds(ranges) for each in (left, right)]
    first = min(least for least, _ in ends)
    sizes = (left.size, right.size)
    last = max(end + size for (_, end), size in zip(ends, sizes, strict=True))
    return Interval(Linear(first), last - first)
