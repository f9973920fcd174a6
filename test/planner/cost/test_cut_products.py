"""Products that are cut again: whole passes of the array for each nearer tile."""

from itertools import product
from math import ceil, prod

import pytest

from tlf.analysis.operations.banded_matmul import MatmulWork, SystolicArray, Windows
from tlf.planner.cost.npu.matmul_retiling import (
    Sizes,
    distinct_tile_sizes,
    initial_tile_sizes,
    min_padded_matmul_work,
    min_padded_rows,
    padded_matmul_work,
)
from tlf.support.affine.index_access import IndexAccess

BOXES = [(28, 56), (35, 35), (7, 7), (3, 13, 9), (55, 2), (1, 1)]
ROLES = ("m", "m", "n", "k")
L1 = 1 << 18


def apart(extents: tuple[int, ...], side: int, most: int, sizes: Sizes) -> int:
    """The rows of boxes without columns."""
    return min_padded_rows(tuple((extent, 1) for extent in extents), side, most, sizes)


def tried(extents: tuple[int, ...], side: int, most: int) -> int:
    """The fewest elements of all sizes of tiles."""
    return min(
        prod(ceil(e / s) for e, s in zip(extents, sizes, strict=True))
        * ceil(prod(sizes) / side)
        * side
        for sizes in product(*(range(1, extent + 1) for extent in extents))
        if prod(sizes) <= max(side, most)
    )


@pytest.mark.parametrize("extents", BOXES)
@pytest.mark.parametrize(("side", "most"), [(64, 512), (16, 16), (32, 4096)])
def test_no_tiles_are_fuller(extents: tuple[int, ...], side: int, most: int):
    least = apart(extents, side, most, distinct_tile_sizes)

    assert least == tried(extents, side, most)
    assert least <= apart(extents, side, most, initial_tile_sizes)


@pytest.mark.parametrize("extents", BOXES[:4])
def test_tiles_of_tiles_are_no_fuller(extents: tuple[int, ...]):
    """So the largest tile bounds all."""
    whole = apart(extents, 64, 512, distinct_tile_sizes)
    for sizes in product(*(range(1, extent + 1) for extent in extents)):
        count = prod(ceil(e / s) for e, s in zip(extents, sizes, strict=True))
        assert count * apart(sizes, 64, 512, initial_tile_sizes) >= whole


def test_many_axes_take_no_time():
    """A box of five axes has millions of sizes."""
    extents = (112, 112, 112, 32, 32)

    assert apart(extents, 64, 512, distinct_tile_sizes) == prod(extents)


def test_a_single_axis_is_cut_without_a_rest():
    assert apart((1000,), 64, 512, initial_tile_sizes) == 1000


@pytest.mark.parametrize(("rows", "passes"), [(28, 28), (7, 7), (8, 7)])
def test_rows_of_an_image_that_do_not_fill_the_array(rows: int, passes: int):
    """28 x 56 are no multiple of 64 along either axis; 8 x 56 are."""
    work = padded_matmul_work(
        ROLES, (rows, 56, 64, 576), None, SystolicArray(64, 64), L1
    )

    assert work == MatmulWork(1, passes * 64, 64, 576)


@pytest.mark.parametrize("dataflow", ["ws", "is"])
def test_what_passes_by_an_array_needs_no_filling(dataflow: str):
    """Of one of the two orders of the inputs, at least."""
    array = SystolicArray(64, 64, dataflow)  # pyright: ignore[reportArgumentType]
    work = padded_matmul_work(ROLES, (28, 56, 64, 576), None, array, L1)

    assert work == MatmulWork(1, 28 * 56, 64, 576)


@pytest.mark.parametrize("extents", [(28, 56), (70, 960), (12, 12)])
@pytest.mark.parametrize("columns", [(1, 1), (2, 2), (1, 4)])
def test_neighbours_that_are_columns_are_not_rows(
    extents: tuple[int, int], columns: tuple[int, int]
):
    axes = tuple(zip(extents, columns, strict=True))
    rows = tuple(e // c for e, c in axes)

    assert min_padded_rows(axes, 64, 512, distinct_tile_sizes) >= apart(
        rows, 64, 512, distinct_tile_sizes
    )


def test_tiles_have_multiples_of_the_neighbours_that_are_columns():
    """2 x 960 or 8 x 64 elements: of 70 rows, 8 leave a rest, 2 do not fill passes."""
    assert min_padded_rows(((80, 2), (960, 2)), 64, 512, initial_tile_sizes) == 40 * 480
    assert min_padded_rows(((70, 2), (960, 2)), 64, 512, initial_tile_sizes) == 36 * 480


def test_without_tiles_of_such_multiples_the_array_is_full():
    """143 has no half with a multiple of 11, and 13 x 13 rows have no room."""
    assert (
        min_padded_rows(((143, 11), (143, 11)), 64, 64, initial_tile_sizes) == 13 * 13
    )
    assert min_padded_rows(((7, 5), (8, 1)), 64, 512, initial_tile_sizes) == 2 * 8


WINDOWS = Windows.find_windows(
    ("batch", "m", "m", "n", "k", "k", "k"),
    (
        (
            IndexAccess.of_iterator(0),
            IndexAccess.of_iterator(4),
            IndexAccess(((1, 1), (5, 1)), -1),
            IndexAccess(((2, 1), (6, 1)), -1),
        ),
        (
            IndexAccess.of_iterator(3),
            IndexAccess.of_iterator(4),
            IndexAccess.of_iterator(5),
            IndexAccess.of_iterator(6),
        ),
    ),
    (
        IndexAccess.of_iterator(0),
        IndexAccess.of_iterator(3),
        IndexAccess.of_iterator(1),
        IndexAccess.of_iterator(2),
    ),
)


@pytest.mark.parametrize(("rows", "passes"), [(80, 300), (70, 270)])
def test_bands_of_few_filters_fill_passes_too(rows: int, passes: int):
    """12 filters leave columns for 2 x 2 neighbours, which see 4 x 4 elements."""
    extents, array = (1, rows, 960, 12, 12, 3, 3), SystolicArray(64, 64)
    assert WINDOWS is not None

    work = padded_matmul_work(WINDOWS.roles, extents, WINDOWS, array, L1)
    least = min_padded_matmul_work(WINDOWS.roles, extents, WINDOWS, array, L1)

    assert work == MatmulWork(1, passes * 64, 48, 192)
    assert least == MatmulWork(1, rows * 960 // 4, 48, 192)
