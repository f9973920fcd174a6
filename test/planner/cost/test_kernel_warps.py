"""The number of warps of kernels of a GPU: its price, its bounds, and its search."""

import pytest
from gpu_programs import H200, Sizes, changed, elementwise, members, product, rows_sum

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel
from tlf.planner.cost.gpu.kernel_schedule import KernelSchedule
from tlf.planner.search_space import SearchSpace

CASES = [
    pytest.param(product(4096, 4096, 4096), (128, 128), (64,), id="product"),
    pytest.param(product(512, 512, 512, "f32"), (64, 64), (16,), id="f32 product"),
    pytest.param(product(8, 256, 256), (8, 16), (64,), id="low product"),
    pytest.param(product(16, 4096, 4096), (16, 32), (128,), id="narrow product"),
    pytest.param(elementwise(4096, 4096), (1, 2048), (), id="elementwise"),
    pytest.param(elementwise(64, 1024), (1, 1024), (), id="few rows"),
    pytest.param(rows_sum(16384, 4096), (1,), (2048,), id="rows"),
    pytest.param(rows_sum(64, 1024), (2,), (1024,), id="short rows"),
    pytest.param(rows_sum(4096, 4096, 0), (8,), (512,), id="columns"),
]

SLACK = 1.02
"""The bounds neglect the instructions that compute addresses."""


def model(target: TargetSpec = H200) -> KernelModel:
    chip = Chip.from_target(target)
    assert chip is not None
    return KernelModel(chip, target)


def tiling_of(text: str, tile: Sizes, reduce: Sizes) -> GroupTiling:
    _, group = members(text)
    return group.analyze_tiles_of_sizes(tile, reduce, tile_rules_of(H200, "L1"))


def costs_by_warps(
    text: str, tile: Sizes, reduce: Sizes, target: TargetSpec = H200
) -> dict[int, KernelCost]:
    kernels, tiling = model(target), tiling_of(text, tile, reduce)
    counts = kernels.warp_counts_of(tiling, None)
    return {
        warps: kernels.estimate_cost(tiling, KernelSchedule(warps=warps))
        for warps in counts
    }


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_bounds_hold_for_other_numbers_of_warps(
    text: str, tile: Sizes, reduce: Sizes
) -> None:
    costs = costs_by_warps(text, tile, reduce)
    for warps, cost in costs.items():
        for other, found in costs.items():
            if other < warps:
                assert cost.least_cycles_of_fewer_warps <= SLACK * found.cycles
            if other > warps:
                assert cost.least_cycles_of_more_warps <= SLACK * found.cycles


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_the_default_number_is_one_of_them(
    text: str, tile: Sizes, reduce: Sizes
) -> None:
    kernels, tiling = model(), tiling_of(text, tile, reduce)
    usual = kernels.default_warp_count_of(tiling)
    assert kernels.estimate_cost(tiling) == kernels.estimate_cost(
        tiling, KernelSchedule(warps=usual)
    )


def test_values_are_divided_among_the_threads() -> None:
    costs = costs_by_warps(product(4096, 4096, 4096), (128, 128), (64,))
    registers = {w: cost.resources.registers_per_thread for w, cost in costs.items()}
    assert registers == {4: 160, 8: 96, 16: 64, 32: 48}


def test_a_warp_alone_reaches_a_quarter_of_the_lanes() -> None:
    kernels, tiling = model(), tiling_of(elementwise(64, 1024), (1, 1024), ())
    one, two, four, eight = (
        kernels.estimate_cost(tiling, KernelSchedule(warps=warps)).time_by_resource
        for warps in (1, 2, 4, 8)
    )
    assert one["latency"] > two["latency"] > four["latency"]
    assert four["latency"] == pytest.approx(eight["latency"], rel=0.01)


def test_programs_have_a_warp_per_scheduler() -> None:
    target = changed(H200, "gpu.schedulers", 0.25)
    for rows, least in ((64, 4), (16, 1)):
        text, tile = product(4096, 4096, 4096), (rows, 64)
        assert min(costs_by_warps(text, tile, (64,))) == 4
        assert min(costs_by_warps(text, tile, (64,), target)) == least


def test_a_search_space_limits_the_number_of_warps() -> None:
    _, group = members(product(4096, 4096, 4096))
    level = H200.levels["L1"]
    for most in (4, 8):
        space = SearchSpace(max_warps=most)
        estimator = GpuEstimator.create_for_level(H200, level, space)
        assert estimator is not None
        found = {
            each.schedule.warps for each in estimator.evaluated_candidates_of(group)
        }
        assert max(filter(None, found), default=4) <= most
