"""
Work of matmul tiles that are tiled again for an inner memory level.

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

from tlf.analysis.operations.banded_matmul import (
    BandedMatmul,
    MatmulWork,
    SystolicArray,
    Windows,
)
from tlf.planner.cost.npu.size_options import stepping_sizes

SUM_BYTES = 4
"""Of an element of a sum of products."""

SLOTS = 2
"""Tiles of sums in a nearer memory: while one is computed, another one is rounded."""

MANY = 1 << 12
"""Of more boxes than this none is tried: the array is taken to be full."""

Extents: TypeAlias = Sequence[int]

Axis: TypeAlias = tuple[int, int]
"""An extent, and how many elements along it are columns."""

RetiledWork: TypeAlias = Callable[
    [Sequence[str], Extents, Windows | None, SystolicArray], MatmulWork
]
"""The product of iterators with these roles and extents, however it is cut."""

Sizes: TypeAlias = Callable[[int], tuple[int, ...]]
"""The sizes of tiles along an axis."""


@lru_cache(maxsize=1 << 12)
def search_sizes(extent: int) -> tuple[int, ...]:
    """Return the tile sizes that a search starts from."""
    return stepping_sizes(extent, 1)


@lru_cache(maxsize=1 << 12)
def distinct_sizes(extent: int) -> tuple[int, ...]:
    """Return the smallest tile size for each number of tiles along an axis."""
    few = range(1, isqrt(extent) + 2)
    large = {-(-extent // count) for count in few}
    return tuple(sorted(large | {-(-extent // -(-extent // size)) for size in few}))


def padded_work(
    roles: Sequence[str],
    extents: Extents,
    windows: Windows | None,
    array: SystolicArray,
    capacity: int,
) -> MatmulWork:
    """Return the total padded work of tiles that fit the accumulator memory."""
    found = _padded_box_work(roles, extents, array, capacity, search_sizes)
    for bands in () if windows is None else windows.rank_banded(extents, array):
        if array.count_steps(bands.work) >= array.count_steps(found):
            break
        if bands.has_neighbours:
            work = _padded_banded_work(bands, array, capacity)
            found = min(found, work, key=array.count_steps)
    return found


def min_work(
    roles: Sequence[str],
    extents: Extents,
    windows: Windows | None,
    array: SystolicArray,
    capacity: int,
) -> MatmulWork:
    """Return a lower bound of the padded work over all tile sizes."""
    if (
        windows is not None
        and (best := next(windows.rank_banded(extents, array))).has_neighbours
    ):
        return best.work
    return _padded_box_work(roles, extents, array, capacity, distinct_sizes)


def _padded_banded_work(
    bands: BandedMatmul, array: SystolicArray, capacity: int
) -> MatmulWork:
    """The product of bands in boxes of sizes that a search starts from."""
    work, rows, most = bands.work, bands.row_role, _max_tile_elements(array, capacity)
    axes = _axes_of_side(
        bands.windows.roles, bands.extents, rows, bands.columns_by_iterator
    )
    works = [
        work._replace(**{rows: min_padded_rows(axes, side, most, search_sizes)})
        for side in array.side_cells
    ]
    return min(works, key=array.count_steps)


def _padded_box_work(
    roles: Sequence[str],
    extents: Extents,
    array: SystolicArray,
    capacity: int,
    sizes: Sizes,
) -> MatmulWork:
    """The product of boxes of some sizes, without bands."""
    work, most = MatmulWork.of(roles, extents), _max_tile_elements(array, capacity)
    rows, columns = (_axes_of_side(roles, extents, side, {}) for side in "mn")
    works = [
        work._replace(
            m=min_padded_rows(rows, down, most, sizes),
            n=min_padded_rows(columns, across, most, sizes),
        )
        for down, across in (array.side_cells, array.side_cells[::-1])
    ]
    return min(works, key=array.count_steps)


def _max_tile_elements(array: SystolicArray, capacity: int) -> int:
    """The elements of a tile whose sums have slots in a memory."""
    return capacity // (SUM_BYTES * SLOTS * array.cols)


def _axes_of_side(
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
def min_padded_rows(axes: tuple[Axis, ...], side: int, most: int, sizes: Sizes) -> int:
    """
    Return the fewest rows of tiles that are padded to multiples of `side`. A tile has
    `most` rows, or as many as a side.
    """
    whole = [ceil(extent / columns) for extent, columns in axes]
    choices = [_rows_along(*axis, sizes) for axis in axes]
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


def _rows_along(extent: int, columns: int, sizes: Sizes) -> list[int]:
    """The rows along an axis that tiles of its sizes have."""
    return [size // columns for size in sizes(extent) if size % columns == 0]
