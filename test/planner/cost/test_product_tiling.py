"""Tiles of products in the innermost memory."""

import random
from dataclasses import replace
from itertools import product
from math import ceil
from typing import NamedTuple

import pytest

from tlf.planner.cost.npu.product_tiling import (
    ProductExtents,
    ProductResources,
    ProductTiling,
    find_product_tiling,
)
from tlf.planner.cost.npu.tile_size_options import halves_and_powers_of_two
from tlf.planner.settings.search_budgets import TILE_SEARCH

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


class Tile(NamedTuple):
    """A candidate tile with its costs, computed one number after the other."""

    array: float
    share: float
    moved: float
    footprint: float
    cycles: float
    tiling: ProductTiling


def tile_of(
    extents: ProductExtents,
    resources: ProductResources,
    sizes: tuple[int, int, int, int],
    slots: int,
    result_slots: int,
) -> Tile:
    batch, m, n, k = sizes
    counts = [ceil(e / s) for e, s in zip(extents[:4], sizes, strict=True)]
    batches, rows, columns, reductions = counts
    result_slots = slots if reductions == 1 else result_slots
    all_results = batches * rows * columns
    results = ceil(all_results / resources.cores)
    across, down = resources.rows, resources.columns
    passes = min(ceil(m / across) * ceil(n / down), ceil(n / across) * ceil(m / down))
    array = passes * (results * batch * reductions * k) * extents.step_cycles
    left, right = columns, rows
    keeps_left = extents.right_bytes * (right - 1) <= extents.left_bytes * (left - 1)
    if reductions == 1:
        left, right = (1, right) if keeps_left else (left, 1)
    moved = extents.left_bytes * left + extents.right_bytes * right
    part = batch / extents.batch
    factors = (
        part
        * k
        / extents.k
        * (extents.left_bytes * m / extents.m + extents.right_bytes * n / extents.n)
    )
    footprint = slots * factors + result_slots * (batch * extents.result_bytes * m * n)
    bus, tiles = moved / resources.bandwidth, results * reductions
    chain = (array + bus) / tiles + resources.latency
    period = max(max(array, bus) / tiles, chain / slots, resources.issue_cycles)
    restarts = results if result_slots == 1 else 1
    cycles = (tiles - restarts) * period + restarts * (chain + resources.latency)
    share = array * (all_results / resources.cores / results)
    found = ProductTiling(array, left, right, results, reductions, slots, result_slots)
    return Tile(array, share, moved, footprint, cycles, found)


def find_tiling_of_all(
    extents: ProductExtents, resources: ProductResources
) -> ProductTiling:
    """The fastest tiling, by a loop over all candidates."""
    shortest = (1, 1, 1, resources.min_steps)
    options = [
        halves_and_powers_of_two(extent, min(extent, least))
        for extent, least in zip(extents[:4], shortest, strict=True)
    ]
    slots = TILE_SEARCH.product_slots
    tiles = [
        tile_of(extents, resources, (batch, m, n, k), many, results)
        for batch, m, n, k, many, results in product(*options, slots, slots[:2])
    ]
    fitting = [each for each in tiles if each.footprint <= resources.capacity]
    ranked = [
        (each.cycles if fitting else each.footprint, each) for each in fitting or tiles
    ]
    limit = TILE_SEARCH.near_optimal_ratio * min(time for time, _ in ranked)
    near = [(each.moved, time, each) for time, each in ranked if time <= limit]
    _, _, best = min(near, key=lambda each: each[:2])
    least = min(each.share for each in tiles)
    return best.tiling._replace(fill_ratio=best.array / least)


@pytest.mark.parametrize("seed", range(12))
def test_the_arrays_of_all_candidates_find_the_same_tiles(seed: int):
    pick = random.Random(seed)
    batch, m, n, k = (pick.choice((1, 3)), *(pick.randrange(1, 90) for _ in range(3)))
    factors = (batch * m * k * pick.choice((1, 2)), batch * n * k * 2.5)
    extents = ProductExtents(batch, m, n, k, *factors, 0.5, pick.choice((2.0, 6.5)))
    resources = replace(
        LARGE,
        capacity=pick.choice((64, 4096, 1 << 16)),
        rows=pick.choice((8, 16)),
        columns=pick.choice((8, 64)),
        cores=pick.choice((1, 2)),
    )
    assert find_product_tiling(extents, resources) == find_tiling_of_all(
        extents, resources
    )
