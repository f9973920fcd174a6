"""
Products that are cut again for a nearer memory: the work of their tiles together.

Rows of a product may come from several axes, as those of an image. Its tiles are boxes
of these, and each tile fills up the rows of an array of cells by itself: 28 x 56
results are 24.5 times 64 rows, but their tiles, such as 8 x 8, are 28 times as many.
Along a single axis tiles can be multiples of what the array has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import isqrt, prod
from typing import TypeAlias

from tlf.passes.bands import SystolicArray, Windows, Work
from tlf.passes.cost.sizes import steps

SUM_BYTES = 4
"""Of an element of a sum of products."""

SLOTS = 2
"""Tiles of sums in a nearer memory: while one is computed, another one is rounded."""

MANY = 1 << 12
"""Of more boxes than this none is tried: the array is taken to be full."""

Extents: TypeAlias = Sequence[int]

CutWork: TypeAlias = Callable[
    [Sequence[str], Extents, Windows | None, SystolicArray], Work
]
"""The product of iterators with these roles and extents, however it is cut."""

Sizes: TypeAlias = Callable[[int], tuple[int, ...]]
"""The sizes of tiles along an axis; unless given, those that a search starts from."""


@lru_cache(maxsize=1 << 12)
def usual_sizes(extent: int) -> tuple[int, ...]:
    """Those that a search of tiles starts from."""
    return steps(extent, 1)


@lru_cache(maxsize=1 << 12)
def all_sizes(extent: int) -> tuple[int, ...]:
    """For every number of tiles along an axis the smallest that are so many."""
    few = range(1, isqrt(extent) + 2)
    large = {-(-extent // count) for count in few}
    return tuple(sorted(large | {-(-extent // -(-extent // size)) for size in few}))


def filled_work(
    roles: Sequence[str],
    extents: Extents,
    windows: Windows | None,
    array: SystolicArray,
    capacity: int,
    sizes: Sizes = usual_sizes,
) -> Work:
    """
    The product that boxes come to together whose sums fit a memory of so many bytes,
    each with whole passes of the array; the least one where windows are bands.
    """
    work = Work.of(roles, extents)
    least = work if windows is None else windows.least(extents, array)
    if least != work:
        return least
    pairs = [each for each in zip(roles, extents, strict=True) if each[1] > 1]
    rows, columns = (tuple(e for role, e in pairs if role == side) for side in "mn")
    most = capacity // (SUM_BYTES * SLOTS * array.cols)
    works = [
        work._replace(
            m=filled(rows, down, most, sizes),
            n=filled(columns, across, most, sizes),
        )
        for down, across in (array.sides, array.sides[::-1])
    ]
    return min(works, key=array.steps)


@lru_cache(maxsize=1 << 16)
def filled(extents: tuple[int, ...], side: int, most: int, sizes: Sizes) -> int:
    """
    The fewest elements in tiles of axes with these extents, of some sizes, each filled
    up to multiples of `side`. A tile has `most` elements, or as many as a side.
    """
    if len(extents) < 2 or side == 1:
        return prod(extents)
    choices = [sizes(extent) for extent in extents]
    if prod(map(len, choices)) > MANY:
        return prod(extents)
    return min(
        prod(-(-e // s) for e, s in zip(extents, tile, strict=True))
        * (-(-prod(tile) // side) * side)
        for tile in product(*choices)
        if prod(tile) <= max(side, most)
    )
