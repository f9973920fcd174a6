"""
Products that are cut again for a nearer memory: the work of their tiles together.

Rows of a product may come from several axes, as those of an image. Its tiles are boxes
of these, and each tile fills up the rows of an array of cells by itself: 28 x 56
results are 24.5 times 64 rows, but their tiles, such as 8 x 8, are 28 times as many.
Along a single axis tiles can be multiples of what the array has. Where neighbours are
columns, as in `bands.py`, they are not rows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import ceil, isqrt, prod
from typing import TypeAlias

from tlf.analysis.operations.bands import Bands, SystolicArray, Windows, Work
from tlf.planner.cost.npu.sizes import steps

SUM_BYTES = 4
"""Of an element of a sum of products."""

SLOTS = 2
"""Tiles of sums in a nearer memory: while one is computed, another one is rounded."""

MANY = 1 << 12
"""Of more boxes than this none is tried: the array is taken to be full."""

Extents: TypeAlias = Sequence[int]

Axis: TypeAlias = tuple[int, int]
"""An extent, and how many elements along it are columns."""

CutWork: TypeAlias = Callable[
    [Sequence[str], Extents, Windows | None, SystolicArray], Work
]
"""The product of iterators with these roles and extents, however it is cut."""

Sizes: TypeAlias = Callable[[int], tuple[int, ...]]
"""The sizes of tiles along an axis."""


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
) -> Work:
    """
    The product that boxes come to together whose sums fit a memory of so many bytes,
    each with whole passes of the array: of sizes that a search starts from, with bands
    or without, whatever takes the fewest steps.
    """
    found = _filled_boxes(roles, extents, array, capacity, usual_sizes)
    for bands in () if windows is None else windows.ranked(extents, array):
        if array.steps(bands.work) >= array.steps(found):
            break
        if bands.helps:
            work = _filled_bands(bands, array, capacity)
            found = min(found, work, key=array.steps)
    return found


def least_work(
    roles: Sequence[str],
    extents: Extents,
    windows: Windows | None,
    array: SystolicArray,
    capacity: int,
) -> Work:
    """The product that boxes of any sizes come to at least, with bands of any width."""
    if windows is not None and (best := next(windows.ranked(extents, array))).helps:
        return best.work
    return _filled_boxes(roles, extents, array, capacity, all_sizes)


def _filled_bands(bands: Bands, array: SystolicArray, capacity: int) -> Work:
    """The product of bands in boxes of sizes that a search starts from."""
    work, rows, most = bands.work, bands.rows, _most(array, capacity)
    axes = _axes(bands.windows.roles, bands.extents, rows, bands.along)
    works = [
        work._replace(**{rows: filled(axes, side, most, usual_sizes)})
        for side in array.sides
    ]
    return min(works, key=array.steps)


def _filled_boxes(
    roles: Sequence[str],
    extents: Extents,
    array: SystolicArray,
    capacity: int,
    sizes: Sizes,
) -> Work:
    """The product of boxes of some sizes, without bands."""
    work, most = Work.of(roles, extents), _most(array, capacity)
    rows, columns = (_axes(roles, extents, side, {}) for side in "mn")
    works = [
        work._replace(
            m=filled(rows, down, most, sizes),
            n=filled(columns, across, most, sizes),
        )
        for down, across in (array.sides, array.sides[::-1])
    ]
    return min(works, key=array.steps)


def _most(array: SystolicArray, capacity: int) -> int:
    """The elements of a tile whose sums have slots in a memory."""
    return capacity // (SUM_BYTES * SLOTS * array.cols)


def _axes(
    roles: Sequence[str], extents: Extents, side: str, along: Mapping[int, int]
) -> tuple[Axis, ...]:
    """The axes of a side, longer than 1, with how many of each are columns."""
    pairs = enumerate(zip(roles, extents, strict=True))
    return tuple(
        (extent, along.get(number, 1))
        for number, (role, extent) in pairs
        if role == side and extent > 1
    )


@lru_cache(maxsize=1 << 16)
def filled(axes: tuple[Axis, ...], side: int, most: int, sizes: Sizes) -> int:
    """
    The fewest rows in tiles of axes of some extents, of some sizes, each filled up to
    multiples of `side`: one for as many elements along each axis as are columns, of
    which tiles have multiples. A tile has `most` rows, or as many as a side.
    """
    whole = [ceil(extent / columns) for extent, columns in axes]
    choices = [_rows(*axis, sizes) for axis in axes]
    tiles = prod(map(len, choices))
    if len(axes) < 2 or side == 1 or not 0 < tiles <= MANY:
        return prod(whole)
    found = (
        prod(-(-e // s) for e, s in zip(whole, tile, strict=True))
        * (-(-prod(tile) // side) * side)
        for tile in product(*choices)
        if prod(tile) <= max(side, most)
    )
    return min(found, default=prod(whole))


def _rows(extent: int, columns: int, sizes: Sizes) -> list[int]:
    """The rows along an axis that tiles of its sizes have."""
    return [size // columns for size in sizes(extent) if size % columns == 0]
