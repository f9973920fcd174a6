"""Tiles of products in the innermost memory."""

import random
from dataclasses import replace

import pytest

from tlf.planner.cost.npu.product_tiling import (
    ProductExtents,
    ProductResources,
    find_product_tiling,
)

LARGE = ProductResources(
    capacity=1 << 20,
    bandwidth=256,
    latency=200,
    issue_cycles=8,
    rows=64,
    columns=64,
    min_steps=8,
)
SQUARE = ProductExtents(1, 256, 256, 256, 256 * 256 * 4, 256 * 256 * 4, 4, 4)


def footprint(extents: ProductExtents, loads: tuple[int, int]) -> float:
    """Return the bytes moved by a number of loads of each factor."""
    return loads[0] * extents.left_bytes + loads[1] * extents.right_bytes


def test_tiles_in_a_large_memory_fill_the_array():
    found = find_product_tiling(SQUARE, LARGE)

    assert found.fill_ratio == 1
    assert found.slots > 1


def test_sums_larger_than_memory_leave_a_part_of_the_array_idle():
    """64 x 64 sums of 4 bytes take 16 KiB."""
    small = find_product_tiling(SQUARE, replace(LARGE, capacity=8192))

    assert small.fill_ratio >= 2
    assert small.tile_count > find_product_tiling(SQUARE, LARGE).tile_count


def test_live_values_of_an_epilogue_take_the_place_of_results():
    scarce = replace(LARGE, capacity=16384)
    plain = find_product_tiling(SQUARE, scarce)
    live = find_product_tiling(SQUARE._replace(result_bytes=16), scarce)

    assert live.result_tiles > plain.result_tiles


def test_tiles_of_one_core_leave_the_others_idle():
    row = ProductExtents(1, 1, 16, 256, 1024, 16384, 4, 4)
    one, two = (find_product_tiling(row, replace(LARGE, cores=n)) for n in (1, 2))

    assert one.fill_ratio == 1
    assert two.fill_ratio > 1 or two.result_tiles < one.result_tiles


def test_a_batch_of_small_products_shares_a_tile():
    batch = ProductExtents(64, 4, 4, 16, 64 * 64 * 4, 64 * 64 * 4, 1, 4)

    assert find_product_tiling(batch, LARGE).result_tiles < 64


@pytest.mark.parametrize("capacity", [1 << 12, 1 << 14, 1 << 16])
def test_more_memory_moves_no_more(capacity: int):
    generator = random.Random(capacity)
    for _ in range(20):
        m, n, k = (generator.randrange(1, 400) for _ in range(3))
        extents = ProductExtents(1, m, n, k, 4 * m * k, 4 * n * k, 1, 4)
        small, large = (
            find_product_tiling(extents, replace(LARGE, capacity=each, bandwidth=1))
            for each in (capacity, 4 * capacity)
        )
        before, after = (
            footprint(extents, (each.left_loads, each.right_loads))
            for each in (small, large)
        )
        assert after <= before


def test_whole_reductions_of_one_factor_are_loaded_once():
    wide = ProductExtents(1, 64, 4096, 64, 64 * 64 * 2, 4096 * 64 * 2, 1, 4)
    found = find_product_tiling(wide, replace(LARGE, capacity=1 << 17))

    assert (found.left_loads, found.right_loads) == (1, 1)


def test_the_smallest_tiles_are_returned_if_none_fits():
    found = find_product_tiling(SQUARE, replace(LARGE, capacity=1))

    assert found.result_tiles == 256 * 256
    assert found.reduction_tiles == 256 // LARGE.min_steps
