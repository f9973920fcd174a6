"""
Cost model, without IR, of matmul tiles that are tiled again for an inner memory level
of an NPU.

Rows of a product may come from several axes, such as those of an image. Tiles are boxes
of these axes, and each tile pads its rows to the rows of the systolic array: 28 x 56
results are 24.5 times 64 rows, but their 8 x 8 tiles are 28 times 64. Along a single
axis, tile sizes can be multiples of the array's rows. Neighbours that are columns, as
in `banded_matmul.py`, are not rows as well.
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
from tlf.planner.cost.npu.tile_size_options import halves_and_powers_of_two
from tlf.planner.settings.search_budgets import TILE_SEARCH

SUM_BYTES = 4
"""Bytes per element of an accumulator."""

SLOTS = 2
"""
Slots of accumulator tiles in an inner memory: one is computed while another is rounded.
"""


Extents: TypeAlias = Sequence[int]

Axis: TypeAlias = tuple[int, int]
"""Extent of an axis, and the number of elements along it that are columns."""

RetiledWork: TypeAlias = Callable[
    [Sequence[str], Extents, Windows | None, SystolicArray], MatmulWork
]
"""Padded work of a product with these iterator roles and extents, after retiling."""

Sizes: TypeAlias = Callable[[int], tuple[int, ...]]
"""Candidate tile sizes along an axis."""


@lru_cache(maxsize=1 << 12)
def initial_tile_sizes(extent: int) -> tuple[int, ...]:
    """Return the tile sizes that a search starts from."""
    return halves_and_powers_of_two(extent, 1)


@lru_cache(maxsize=1 << 12)
def distinct_tile_sizes(extent: int) -> tuple[int, ...]:
    """Return the smallest tile size for each number of tiles along an axis."""
    few = range(1, isqrt(extent) + 2)
    large = {-(-extent // count) for count in few}
    return tuple(sorted(large | {-(-extent // -(-extent // size)) for size in few}))


def padded_matmul_work(
    roles: Sequence[str],
    extents: Extents,
    windows: Windows | None,
    array: SystolicArray,
    capacity: int,
) -> MatmulWork:
    """Return the total padded work of tiles that fit the accumulator memory."""
    found = _padded_box_work(roles, extents, array, capacity, initial_tile_sizes)
    for bands in () if windows is None else windows.rank_banded_matmuls(extents, array):
        if array.steps_of_matmul(bands.banded_work) >= array.steps_of_matmul(found):
            break
        if bands.has_neighbours:
            work = _padded_banded_work(bands, array, capacity)
            found = min(found, work, key=array.steps_of_matmul)
    return found


def min_padded_matmul_work(
    roles: Sequence[str],
    extents: Extents,
    windows: Windows | None,
    array: SystolicArray,
    capacity: int,
) -> MatmulWork:
    """Return a lower bound of the padded work over all tile sizes."""
    if (
        windows is not None
        and (best := next(windows.rank_banded_matmuls(extents, array))).has_neighbours
    ):
        return best.banded_work
    return _padded_box_work(roles, extents, array, capacity, distinct_tile_sizes)


def _padded_banded_work(
    bands: BandedMatmul, array: SystolicArray, capacity: int
) -> MatmulWork:
    """Return the padded work of a banded matmul over the initial sizes of a search."""
    work, rows, most = (
        bands.banded_work,
        bands.row_role,
        _max_accumulator_rows(array, capacity),
    )
    axes = _axes_of_side(
        bands.windows.roles, bands.extents, rows, bands.columns_by_iterator
    )
    works = [
        work._replace(**{rows: min_padded_rows(axes, side, most, initial_tile_sizes)})
        for side in array.side_cells
    ]
    return min(works, key=array.steps_of_matmul)


def _padded_box_work(
    roles: Sequence[str],
    extents: Extents,
    array: SystolicArray,
    capacity: int,
    sizes: Sizes,
) -> MatmulWork:
    """Return the padded work of boxes of candidate sizes, without banded matmul."""
    work, most = (
        MatmulWork.of_iterators(roles, extents),
        _max_accumulator_rows(array, capacity),
    )
    rows, columns = (_axes_of_side(roles, extents, side, {}) for side in "mn")
    works = [
        work._replace(
            m=min_padded_rows(rows, down, most, sizes),
            n=min_padded_rows(columns, across, most, sizes),
        )
        for down, across in (array.side_cells, array.side_cells[::-1])
    ]
    return min(works, key=array.steps_of_matmul)


def _max_accumulator_rows(array: SystolicArray, capacity: int) -> int:
    """Return the maximum rows of a tile whose accumulators have slots in a memory."""
    return capacity // (SUM_BYTES * SLOTS * array.cols)


def _axes_of_side(
    roles: Sequence[str],
    extents: Extents,
    side: str,
    columns_by_axis: Mapping[int, int],
) -> tuple[Axis, ...]:
    """
    Return the axes of a side that are longer than 1, each with its number of columns.
    """
    pairs = enumerate(zip(roles, extents, strict=True))
    return tuple(
        (extent, columns_by_axis.get(index, 1))
        for index, (role, extent) in pairs
        if role == side and extent > 1
    )


@lru_cache(maxsize=1 << 16)
def min_padded_rows(
    axes: tuple[Axis, ...], array_side: int, max_rows: int, sizes: Sizes
) -> int:
    """
    Return the minimum total rows of tiles that are padded to multiples of `array_side`.
    A tile has at most `max_rows` rows, or `array_side` rows if that is more.
    """
    extents = [ceil(extent / columns) for extent, columns in axes]
    options = [_tile_rows_along_axis(*axis, sizes) for axis in axes]
    tiles = prod(map(len, options))
    if (
        len(axes) < 2
        or array_side == 1
        or not 0 < tiles <= TILE_SEARCH.max_enumerated_boxes
    ):
        return prod(extents)
    totals = (
        prod(-(-e // s) for e, s in zip(extents, tile, strict=True))
        * (-(-prod(tile) // array_side) * array_side)
        for tile in product(*options)
        if prod(tile) <= max(array_side, max_rows)
    )
    return min(totals, default=prod(extents))


def _tile_rows_along_axis(extent: int, columns: int, sizes: Sizes) -> list[int]:
    """Return the rows along an axis for each candidate tile size."""
    return [size // columns for size in sizes(extent) if size % columns == 0]
