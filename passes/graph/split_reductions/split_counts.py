"""Candidate numbers of parts for split-K, and the hill climbing that selects one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence

from xdsl.ir import Operation

from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.dialects.types import tensor_type

MIN_PART_EXTENT = 64
"""Minimum extent of a part."""

TILE_ROWS = 64
"""Maximum number of rows of a tile near the engines."""

TILE_COLUMNS = 128
"""Maximum number of columns of such a tile of a product."""

TILES_PER_PROCESSOR = 2
"""Number of tiles per processor that keep all processors busy."""


def candidate_split_counts(
    reductions: Collection[AccumulatingInterface], extent: int, processors: int
) -> list[int]:
    """
    Return the candidate numbers of equal parts of a reduction axis, in ascending order,
    where tiles of the results are too few to keep processors busy.
    """
    if (
        processors == 1
        or min_result_tiles(reductions) >= TILES_PER_PROCESSOR * processors
    ):
        return []
    found, count = list[int](), 2
    while count <= extent // MIN_PART_EXTENT:
        divisor = _divisor_near(extent, count)
        if (
            divisor is not None
            and divisor not in found
            and divisor <= extent // MIN_PART_EXTENT
        ):
            found.append(divisor)
        count *= 2
    return found


def hill_climb_count(
    counts: Sequence[int], start: int, saved: Callable[[int], int], least: int
) -> int | None:
    """
    Return the count that saves most by hill climbing from `start`; None where none
    saves anything, or the first one loses more than `least`, which is negative: then
    others hardly will.
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


def min_result_tiles(reductions: Collection[AccumulatingInterface]) -> int:
    """
    Return the least number of tiles of the results of reductions, for large tiles.
    """
    return min(map(_result_tiles_of, reductions))


def _result_tiles_of(op: Operation) -> int:
    """Return the number of tiles of the result of a reduction, for large tiles."""
    elements = tensor_type(op.results[0]).element_count()
    is_product = isinstance(op, ContractionInterface)
    return -(-elements // (TILE_ROWS * TILE_COLUMNS if is_product else TILE_ROWS))


def _divisor_near(extent: int, count: int) -> int | None:
    """The smallest divisor of an extent from a count to less than twice of it."""
    return next((n for n in range(count, 2 * count) if extent % n == 0), None)
