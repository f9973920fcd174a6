"""Products that lanes compute: threads of a tile, and reads from shared memory."""

from dataclasses import replace

import pytest
from gpu_programs import price, product

from tlf.planner.cost.gpu.lane_product import LaneProduct

SQUARE = LaneProduct(1, 64, 64, 32, 4, (True, False), 32, 4)


@pytest.mark.parametrize(
    ("rows", "columns", "warps", "extents"),
    [
        (64, 64, 4, (8, 4)),
        (64, 128, 4, (16, 4)),
        (128, 128, 8, (16, 4)),
        (128, 32, 4, (8, 4)),
        (32, 32, 4, (4, 2)),
        (16, 16, 4, (2, 1)),
    ],
)
def test_extents_of_threads(
    rows: int, columns: int, warps: int, extents: tuple[int, int]
):
    """Triton gives a thread blocks of 4x4, 2x2 or 1 elements, and rows the rest."""
    each = replace(SQUARE, rows=rows, columns=columns, warp_count=warps)
    assert each.thread_extents == extents


def test_columns_along_the_depth_are_in_the_same_banks():
    fast = replace(SQUARE, has_depth_last=(False, False))
    assert fast.read_cycles < SQUARE.read_cycles
    # The sixteen lanes along the columns read one after the other, but for two groups.
    left = replace(SQUARE, has_depth_last=(False, True))
    assert left.read_cycles > 5 * fast.read_cycles


def test_large_tiles_read_less_for_each_product():
    wide = replace(SQUARE, columns=128)
    assert wide.read_cycles < 1.5 * SQUARE.read_cycles


def test_small_tiles_are_slower():
    deep = product(1024, 1024, 1024, "f32")
    small, large = price(deep, (16, 16), (256,)), price(deep, (64, 64), (32,))
    assert small.cycles > 2 * large.cycles


def test_a_transposed_right_factor_is_slow():
    type_ = "tensor<1024x1024xf32>"
    text = (
        f"func.func @f(%x: {type_}, %w: {type_}) -> {type_} {{{{\n"
        "%y = graph.contract %x, %w maps [affine_map<(i, j, k) -> ({})>, "
        "affine_map<(i, j, k) -> ({})>, affine_map<(i, j, k) -> (i, j)>] "
        f": ({type_}, {type_}) -> {type_}\n"
        f"func.return %y : {type_}\n}}}}"
    )
    plain, both, right = (
        price(text.format(*axes), (64, 64), (32,)).cycles
        for axes in (("i, k", "k, j"), ("k, i", "j, k"), ("i, k", "j, k"))
    )
    # If both are transposed, the second one becomes the left factor.
    assert both == pytest.approx(plain, rel=0.05)
    assert right > 2 * plain
