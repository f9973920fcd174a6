"""Programs that run one after the other on a processor, in the model of a GPU."""

import pytest
from gpu_programs import H200, members, price, sibling_products

from tlf.dialects.tile.loop_attributes import Mapping
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator

LARGE, MIDDLE, SMALL = (128, 256), (128, 128), (64, 64)
"""Tiles of which one, two and more programs fit on a processor."""


def promoted(rows: int, columns: int, depth: int) -> str:
    """Return a product of bf16 whose sum is in f32."""
    x, w = f"tensor<{rows}x{depth}xbf16>", f"tensor<{depth}x{columns}xbf16>"
    sum_, out = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x{columns}xbf16>"
    return (
        f"func.func @f(%x: {x}, %w: {w}) -> {out} {{\n"
        f"%s = graph.matmul %x, %w acc f32 : ({x}, {w}) -> {sum_}\n"
        f"%y = graph.cast %s : ({sum_}) -> {out}\n"
        f"func.return %y : {out}\n}}"
    )


@pytest.mark.parametrize(
    ("rows", "tile", "is_persistent"),
    [
        # As many programs as processors, or more; several programs on a processor.
        (132 * 128, LARGE, False),
        (264 * 128, LARGE, True),
        # Two programs on a processor; more than use all registers.
        (264 * 128, MIDDLE, False),
        (396 * 128, MIDDLE, False),
        (528 * 128, MIDDLE, True),
        (2112 * 64, SMALL, False),
    ],
)
def test_programs_that_follow_each_other_are_one(
    rows: int, tile: tuple[int, int], is_persistent: bool
):
    cost = price(promoted(rows, tile[1], 1024), tile, (64,))
    assert cost.is_persistent == is_persistent
    resident = {LARGE: 1, MIDDLE: 2}.get(tile)
    assert resident in (cost.resident_programs, None)


def test_loops_of_several_products_are_not_persistent():
    """The compiler would let each of their products wait for the one before."""
    cost = price(sibling_products(264 * 128, 128, 1024), (128, 128), (64,))
    assert cost.resident_programs == 1
    assert not cost.is_persistent


def test_loops_around_loads_of_a_residual_are_not_persistent():
    rows, columns = 264 * 128, 256
    out = f"tensor<{rows}x{columns}xbf16>"
    text = promoted(rows, columns, 1024).replace(") -> ", f", %r: {out}) -> ", 1)
    text = text.replace("%y =", "%z =").replace(
        "func.return %y", f"%y = graph.add %z, %r : {out}\nfunc.return %y"
    )
    assert not price(text, LARGE, (64,)).is_persistent


def test_the_plan_says_so():
    estimator = GpuEstimator.create_for_level(H200, H200.tile_levels[0])
    assert estimator is not None
    for rows, mapping in ((128, Mapping.GRID), (8192, Mapping.PERSISTENT)):
        _, group = members(promoted(rows, 8192, 4096))
        plan = estimator.find_plan(group)
        assert plan is not None
        assert plan.loop_mapping is mapping
