"""Numbers of parts that reductions may be split into."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence

from xdsl.ir import Operation

from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.dialects.types import tensor_type

SHORT = 64
"""The shortest parts."""

ROWS = 64
"""So many rows, at most, are one tile near the engines."""

COLUMNS = 128
"""So many columns of a product, at most, are one tile."""

ENOUGH = 2
"""So many tiles for each processor keep all of them busy."""


def counts_for(
    reductions: Collection[AccumulatingInterface], extent: int, processors: int
) -> list[int]:
    """
    Numbers of equal parts, few first, that reductions of an axis may be split into
    where tiles of their results are too few to keep processors busy.
    """
    if processors == 1 or tiles_of(reductions) >= ENOUGH * processors:
        return []
    found, count = list[int](), 2
    while count <= extent // SHORT:
        divisor = _divisor_near(extent, count)
        if divisor is not None and divisor not in found and divisor <= extent // SHORT:
            found.append(divisor)
        count *= 2
    return found


def climb(
    counts: Sequence[int], start: int, saved: Callable[[int], int], least: int
) -> int | None:
    """
    The number that saves most, of `start` or the next one there is, and of those above
    and below as long as they save more; None where none saves anything, or the first
    one not even as much as `least`, which is negative: then others hardly will.
    """
    first = min(bisect_left(counts, start), len(counts) - 1)
    if first < 0 or saved(counts[first]) < least:
        return None
    best = first
    for step in (1, -1):
        place = best + step
        while 0 <= place < len(counts) and saved(counts[place]) > saved(counts[best]):
            best, place = place, place + step
    return counts[best] if saved(counts[best]) > 0 else None


def tiles_of(reductions: Collection[AccumulatingInterface]) -> int:
    """
    Return the least number of tiles of the results of reductions, for large tiles.
    """
    return min(map(_tiles, reductions))


def _tiles(op: Operation) -> int:
    """Return the number of tiles of the result of a reduction, for large tiles."""
    elements = tensor_type(op.results[0]).element_count()
    is_product = isinstance(op, ContractionInterface)
    return -(-elements // (ROWS * COLUMNS if is_product else ROWS))


def _divisor_near(extent: int, count: int) -> int | None:
    """The smallest divisor of an extent from a count to less than twice of it."""
    return next((n for n in range(count, 2 * count) if extent % n == 0), None)
