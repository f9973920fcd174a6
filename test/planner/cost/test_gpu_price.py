"""The price of groups as kernels of a GPU: bounds, waves, and what makes it grow."""

from dataclasses import replace
from math import inf

import pytest
from gpu_programs import (
    H200,
    Sizes,
    changed,
    convolution,
    elementwise,
    members,
    parsed,
    price,
    product,
    rows_sum,
)
from msgspec import structs
from xdsl.dialects import func

from tlf.analysis.bounds.lower_bounds import lower_bounds_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec, load_target_spec, target_from_data
from tlf.planner.cost.gpu.busy_bound import min_busy_cycles_of
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import (
    KernelWork,
    OuterTraffic,
    estimate_kernel_cost,
)
from tlf.planner.cost.gpu.kernel_schedule import KernelSchedule
from tlf.planner.cost.gpu.kernel_search import DEPTHS
from tlf.planner.cost.gpu.program_grid import ProgramGrid
from tlf.planner.cost.gpu.program_resources import ProgramResources
from tlf.planner.cost.gpu.unit_cycles import UnitCycles
from tlf.planner.estimator_selection import select_estimator
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.planner.settings.search_budgets import TILE_SEARCH

CASES = [
    pytest.param(product(4096, 4096, 4096), (128, 256), (64,), id="product"),
    pytest.param(product(1000, 999, 1001), (64, 64), (64,), id="odd product"),
    pytest.param(product(512, 512, 512, "f32"), (64, 64), (16,), id="f32 product"),
    pytest.param(product(8, 256, 256), (8, 16), (64,), id="low product"),
    pytest.param(convolution(32, 14, 256, 256), (128, 128), (64,), id="windows"),
    pytest.param(convolution(3, 7, 24, 40), (64, 32), (32,), id="odd windows"),
    pytest.param(elementwise(4096, 4096), (1, 2048), (), id="elementwise"),
    pytest.param(elementwise(100, 77), (4, 128), (), id="odd elementwise"),
    pytest.param(rows_sum(16384, 4096), (1,), (2048,), id="rows"),
    pytest.param(rows_sum(4096, 4096, 0), (8,), (512,), id="columns"),
]

FASTER = [
    "levels.1.bandwidth",
    "levels.1.capacity",
    "levels.2.bandwidth",
    "engines.matrix.flops_per_cycle.bf16",
    "engines.matrix.flops_per_cycle.f32",
    "engines.vector.lanes",
    "gpu.port",
    "gpu.shared_bandwidth",
    "gpu.load_lanes",
]


def with_processors(count: int) -> TargetSpec:
    share = count / 132
    target = changed(H200, "engines.matrix.cores", share)
    return changed(target, "engines.vector.cores", share)


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_more_of_anything_never_costs_more(text: str, tile: Sizes, reduce: Sizes):
    # Sums of numbers of two sizes differ in their last digits.
    before = price(text, tile, reduce).cycles * (1 + 1e-12)
    for path in FASTER:
        for times in (1.25, 2, 4):
            target = changed(H200, path, times)
            assert price(text, tile, reduce, target).cycles <= before, path


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_more_processors_never_cost_more(text: str, tile: Sizes, reduce: Sizes):
    counts = (1, 2, 7, 66, 100, 131, 132, 133, 144, 264, 1000)
    found = [price(text, tile, reduce, with_processors(each)).cycles for each in counts]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_no_price_is_under_the_roofline(text: str, tile: Sizes, reduce: Sizes):
    module, _ = members(text)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    found = price(text, tile, reduce)
    assert found.cycles >= lower_bounds_of(function, H200).cycles
    assert found.cycles >= max(found.time_by_resource.values())


GROWING = [
    ([product(128 * n, 1024, 1024) for n in (1, 2, 3, 8, 33)], (128, 128), (64,)),
    ([product(1024, 256 * n, 1024) for n in (1, 2, 3, 8, 33)], (128, 256), (64,)),
    ([product(1024, 1024, 64 * n) for n in (1, 2, 3, 8, 33)], (64, 64), (64,)),
    ([convolution(n, 14, 64, 128) for n in (1, 2, 3, 8, 33)], (128, 128), (64,)),
    ([convolution(8, 14, 64 * n, 128) for n in (1, 2, 3, 8)], (128, 128), (64,)),
    ([elementwise(n, 4096) for n in (1, 2, 5, 100, 4096)], (1, 2048), ()),
    ([elementwise(64, 256 * n) for n in (1, 2, 5, 100)], (1, 256), ()),
    ([rows_sum(n, 4096) for n in (1, 2, 133, 5000)], (1,), (1024,)),
]


@pytest.mark.parametrize(("texts", "tile", "reduce"), GROWING)
def test_a_larger_problem_is_never_cheaper(
    texts: list[str], tile: Sizes, reduce: Sizes
):
    found = [price(text, tile, reduce).cycles for text in texts]
    assert found == sorted(found)


def work(programs: int, warps: int = 8) -> KernelWork:
    """Programs of which a processor has room for `8 / warps * 8`."""
    resources = ProgramResources(
        warp_count=warps, registers_per_thread=32, shared_memory_bytes=0, stages=1
    )
    each = UnitCycles(matrix=1000.0)
    return KernelWork(programs, OuterTraffic(0.0), 0.0, each, 1500.0, 500.0, resources)


def simple() -> Chip:
    """Ten processors with room for 16 warps each, and a launch of 100 cycles."""
    chip = Chip.from_target(H200)
    assert chip is not None
    gpu = structs.replace(chip.gpu, warps=16, launch=100)
    return replace(chip, gpu=gpu, processors=10)


def test_the_tail_is_exact():
    chip = simple()
    # Two programs of 8 warps on each of ten processors: 20 at once. A program alone
    # takes 1500 cycles, of which a part that others cannot use 1000, and 500 to fill.
    cases = {
        1: 100 + 500 + 1000,
        10: 100 + 500 + 1000,
        11: 100 + 500 + 2000,
        20: 100 + 500 + 2000,
        21: 100 + 500 + 3000,
        40: 100 + 500 + 4000,
        41: 100 + 500 + 5000,
    }
    found = {count: estimate_kernel_cost(work(count), chip) for count in cases}
    assert {count: each.cycles for count, each in found.items()} == cases
    assert [found[count].wave_count for count in (20, 21, 40, 41)] == [1, 2, 2, 3]
    # One of 16 warps at once: each wave waits for memory anew.
    assert estimate_kernel_cost(work(11, warps=16), chip).cycles == 100 + 2 * 1500


def test_a_processor_has_room():
    chip = Chip.from_target(H200)
    assert chip is not None
    cases = {
        (4, 32, 0): 16,
        (4, 200, 0): 2,
        (8, 32, 0): 8,
        (8, 255, 0): 1,
        (4, 32, 100 << 10): 2,
        (4, 32, 227 << 10): 1,
        (1, 32, 0): 32,
    }
    for (warps, registers, shared), count in cases.items():
        assert (
            ProgramResources(warps, registers, shared, 1).count_resident_programs(chip)
            == count
        )


def test_programs_in_a_row_cover_the_last_axis_first():
    rows, columns = TileLoop(64, 1), TileLoop(32, 1)
    grid = ProgramGrid((rows, columns))
    assert grid.count_distinct_tiles(32, {columns}) == 32
    assert grid.count_distinct_tiles(32, {rows}) == 1
    assert grid.count_distinct_tiles(64, {rows}) == 2
    assert grid.count_distinct_tiles(64, {rows, columns}) == 64
    grouped = ProgramGrid((rows, columns), is_swizzled=True)
    assert (
        grouped.count_distinct_tiles(TRITON_CALIBRATION.swizzled_programs, {rows})
        == TRITON_CALIBRATION.swizzled_programs
    )
    assert (
        grouped.count_distinct_tiles(
            4 * TRITON_CALIBRATION.swizzled_programs, {columns}
        )
        == 4
    )
    assert (
        grouped.count_distinct_tiles(
            4 * TRITON_CALIBRATION.swizzled_programs, {rows, columns}
        )
        == 4 * TRITON_CALIBRATION.swizzled_programs
    )


def test_rows_that_are_not_aligned_cost_more():
    aligned = price(product(1024, 1024, 1024), (128, 128), (64,))
    odd = price(product(1024, 1023, 1023), (128, 128), (64,))
    assert odd.cycles > 1.2 * aligned.cycles
    # Each row of eight elements is read in one sector, each column in eight.
    along = price(rows_sum(4096, 4096, 0), (8,), (512,))
    across = price(rows_sum(4096, 4096, 0), (1,), (512,))
    assert across.outer_bytes > 7 * along.outer_bytes


def test_what_is_read_again_stays_in_the_cache():
    small = price(product(1024, 1024, 1024), (128, 128), (64,))
    assert small.outer_bytes == 3 * 2 * 1024**2
    large = price(product(16384, 16384, 4096), (128, 256), (64,))
    assert large.outer_bytes > 2 * (2 * 16384 * 4096 + 16384**2)


GROUP_TEXT = """
!t = tensor<512x512xbf16>
func.func @f(%x: !t, %w: !t) -> !t {
  %y = graph.group ins(%a = %x, %b = %w : !t, !t) -> (!t) {
    %0 = graph.matmul %a, %b : (!t, !t) -> !t
    graph.yield %0 : !t
  }
  func.return %y : !t
}
"""


@pytest.mark.parametrize("name", ["npu", "h200"])
def test_one_interface(name: str):
    """Whatever the target, an estimator plans, and prices what it planned."""
    target = load_target_spec(name)
    level = target.tile_levels[0]
    estimator = select_estimator(target, level)
    assert estimator is not None
    (group,) = (op for op in parsed(GROUP_TEXT).walk() if isinstance(op, graph.GroupOp))
    found = members_of_group_op(group)
    assert estimator.find_plan(found) is not None
    cycles = estimator.estimate_cycles(found)
    assert cycles is not None
    assert cycles >= lower_bounds_of(group, target).cycles


def test_a_target_without_facts_has_no_estimator():
    data = {key: each for key, each in H200.data.items() if key != "gpu"}
    target = target_from_data(data)
    assert select_estimator(target, target.tile_levels[0]) is None
    assert select_estimator(H200, H200.levels["L2"]) is None


def test_a_search_far_above_its_limit_ends_at_the_start():
    _module, group = members(product(64, 64, 16384, "f16"))
    level = H200.levels["L1"]

    def cycles_within(*limits: float) -> list[int | None]:
        estimator = GpuEstimator.create_for_level(H200, level)
        assert estimator is not None
        return [estimator.estimate_cycles(group, limit) for limit in limits]

    (best,) = cycles_within(inf)
    assert best is not None
    start, again, unlimited = cycles_within(best / 20, best / 20, inf)
    assert start is not None
    assert start > best
    assert (again, unlimited) == (start, best)
    assert cycles_within(best / 4, best / 20) == [best, best]


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_a_chip_is_busy_for_less_than_any_tiles_take(
    text: str, tile: Sizes, reduce: Sizes
):
    _module, group = members(text)
    cost, chip = price(text, tile, reduce), Chip.from_target(H200)
    assert chip is not None
    busy = min_busy_cycles_of(group, chip)
    assert 0 < busy <= cost.cycles - cost.fixed_cycles


@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_computation_takes_less_than_the_kernel(text: str, tile: Sizes, reduce: Sizes):
    estimator = GpuEstimator.create_for_level(H200, H200.levels["L1"])
    assert estimator is not None
    _module, group = members(text)
    tiling = group.analyze_tiles_of_sizes(tile, reduce, estimator.rules)
    cost = price(text, tile, reduce)
    least = estimator.kernels.min_cycles_of(tiling, None, DEPTHS[-1])
    assert cost.fixed_cycles < least <= cost.cycles


@pytest.mark.parametrize("warps", [None, 4, 8])
@pytest.mark.parametrize(("text", "tile", "reduce"), CASES)
def test_moves_and_computation_take_less_than_the_kernel(
    text: str, tile: Sizes, reduce: Sizes, warps: int | None
):
    estimator = GpuEstimator.create_for_level(H200, H200.levels["L1"])
    assert estimator is not None
    _module, group = members(text)
    tiling = group.analyze_tiles_of_sizes(tile, reduce, estimator.rules)
    model = estimator.kernels
    depths = DEPTHS if model.has_matrix_products(tiling) else (1,)
    schedules = [KernelSchedule(stages, warps) for stages in depths]
    cycles = [model.estimate_cost(tiling, each).cycles for each in schedules]
    least = model.min_cycles_with_moves_of(tiling, warps, DEPTHS[-1])
    assert model.min_cycles_of(tiling, warps, DEPTHS[-1]) <= least
    assert least <= min(cycles) + TILE_SEARCH.rounding_tolerance
    assert least > 0.1 * min(cycles)
    closer = model.min_cycles_with_resources_of(tiling, schedules, DEPTHS[-1])
    within_limits = [
        each
        for each, schedule in zip(cycles, schedules, strict=True)
        if model.program_resources_of(tiling, schedule).is_within_limits(model.chip)
    ]
    most = min(within_limits, default=inf)
    assert least <= closer <= most + TILE_SEARCH.rounding_tolerance


def test_a_long_sum_of_few_results_saves_most_in_parts():
    estimator = GpuEstimator.create_for_level(H200, H200.levels["L1"])
    assert estimator is not None

    def max_share_saved(text: str) -> float:
        _module, group = members(text)
        bound, cycles = (
            estimator.find_split_bound(group),
            estimator.estimate_cycles(group),
        )
        assert bound is not None
        assert cycles is not None
        assert cycles == round(bound.fixed_cycles + bound.divided_cycles)
        return bound.max_cycles_saved(64) / cycles

    assert max_share_saved(product(64, 64, 16384)) > 0.5
    assert max_share_saved(product(4096, 4096, 4096)) < 0.3
