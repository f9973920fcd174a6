"""Products that are cut again: whole passes of the array for each nearer tile."""

from itertools import product
from math import ceil, prod

import pytest

from tlf.passes.bands import SystolicArray, Work
from tlf.passes.cost.cut_products import all_sizes, filled, filled_work, usual_sizes

BOXES = [(28, 56), (35, 35), (7, 7), (3, 13, 9), (55, 2), (1, 1)]
ROLES = ("m", "m", "n", "k")
L1 = 1 << 18


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
    least = filled(extents, side, most, all_sizes)

    assert least == tried(extents, side, most)
    assert least <= filled(extents, side, most, usual_sizes)


@pytest.mark.parametrize("extents", BOXES[:4])
def test_tiles_of_tiles_are_no_fuller(extents: tuple[int, ...]):
    """So the largest tile bounds all."""
    whole = filled(extents, 64, 512, all_sizes)
    for sizes in product(*(range(1, extent + 1) for extent in extents)):
        count = prod(ceil(e / s) for e, s in zip(extents, sizes, strict=True))
        assert count * filled(sizes, 64, 512, usual_sizes) >= whole


def test_many_axes_take_no_time():
    """A box of five axes has millions of sizes."""
    extents = (112, 112, 112, 32, 32)

    assert filled(extents, 64, 512, all_sizes) == prod(extents)


def test_a_single_axis_is_cut_without_a_rest():
    assert filled((1000,), 64, 512, usual_sizes) == 1000


@pytest.mark.parametrize(("rows", "passes"), [(28, 28), (7, 7), (8, 7)])
def test_rows_of_an_image_that_do_not_fill_the_array(rows: int, passes: int):
    """28 x 56 are no multiple of 64 along either axis; 8 x 56 are."""
    work = filled_work(ROLES, (rows, 56, 64, 576), None, SystolicArray(64, 64), L1)

    assert work == Work(1, passes * 64, 64, 576)


@pytest.mark.parametrize("dataflow", ["ws", "is"])
def test_what_passes_by_an_array_needs_no_filling(dataflow: str):
    """Of one of the two orders of the inputs, at least."""
    array = SystolicArray(64, 64, dataflow)  # pyright: ignore[reportArgumentType]
    work = filled_work(ROLES, (28, 56, 64, 576), None, array, L1)

    assert work == Work(1, 28 * 56, 64, 576)
