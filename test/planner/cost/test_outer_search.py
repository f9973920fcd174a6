"""The search of tiles for an outer level."""

from itertools import pairwise
from math import prod

import pytest
from only_group import only_group

from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects.target import load_target_spec
from tlf.planner.cost.npu.npu_estimator import predict_nests_of
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.cost.npu.tile_search import TileSearch
from tlf.planner.cost.npu.tile_size_options import (
    tile_size_options,
    tile_sizes_near_best,
)
from tlf.planner.cost.npu.tiled_group import OuterCost

CONVOLUTION = """
func.func @expand(%x: tensor<1x64x112x112xf16>, %w: tensor<256x64x1x1xf16>)
    -> tensor<1x256x112x112xf16> {
  %y = graph.conv2d %x, %w
      : (tensor<1x64x112x112xf16>, tensor<256x64x1x1xf16>) -> tensor<1x256x112x112xf16>
  func.return %y : tensor<1x256x112x112xf16>
}
"""


PAIR = """
func.func @pair(%x: tensor<1x64x56x56xf16>, %v: tensor<64x64x1x1xf16>,
                %w: tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16> {
  %y = graph.conv2d %x, %v
      : (tensor<1x64x56x56xf16>, tensor<64x64x1x1xf16>) -> tensor<1x64x56x56xf16>
  %z = graph.conv2d %y, %w padding [1, 1, 1, 1]
      : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  func.return %z : tensor<1x64x56x56xf16>
}
"""

TWICE = PAIR.replace("64x64x1x1", "64x64x3x3").replace(
    "%v\n", "%v padding [1, 1, 1, 1]\n"
)

STRIDED = """
func.func @shortcut(%x: tensor<1x64x56x56xf16>, %w: tensor<128x64x1x1xf16>)
    -> tensor<1x128x28x28xf16> {
  %y = graph.conv2d %x, %w strides [2, 2]
      : (tensor<1x64x56x56xf16>, tensor<128x64x1x1xf16>) -> tensor<1x128x28x28xf16>
  func.return %y : tensor<1x128x28x28xf16>
}
"""


SUMS = """
func.func @sums(%x: tensor<1000x300xf32>) -> tensor<1000xf32> {
  %y = graph.reduce %x <sum> axes [1] : (tensor<1000x300xf32>) -> tensor<1000xf32>
  func.return %y : tensor<1000xf32>
}
"""


SQUARE = """
func.func @square(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>)
    -> tensor<512x512xf16> {
  %y = graph.matmul %x, %w acc f32
      : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  func.return %y : tensor<512x512xf16>
}
"""


LONG = """
func.func @long(%x: tensor<48x6000xf16>, %w: tensor<6000x48xf16>)
    -> tensor<48x48xf16> {
  %0 = graph.matmul %x, %w acc f32
      : (tensor<48x6000xf16>, tensor<6000x48xf16>) -> tensor<48x48xf16>
  %y = graph.relu %0 : tensor<48x48xf16>
  func.return %y : tensor<48x48xf16>
}
"""


def search_of(text: str, kibibytes: int, chip: str = "npu") -> OuterSearch:
    """The search for plans of a group of all operations, with so much L2."""
    target = load_target_spec(chip).with_capacities({"L2": kibibytes << 10})
    group = only_group(text, target, "level=L2 max-contractions=2")
    members, level = members_of_group_op(group), target.levels["L2"]
    nests = predict_nests_of(members, target)
    return OuterSearch(members, nests, OuterCostModel(target, level), level.capacity)


def best(kibibytes: int) -> OuterPlan:
    """The best plan of a convolution with so much L2."""
    found = search_of(CONVOLUTION, kibibytes).find_best()
    assert found is not None
    return found


def test_more_memory_is_not_slower():
    """A tile cut along one axis makes room for more of another."""
    plans = [best(128 << octave) for octave in range(8)]

    cycles = [plan.cost.total_cycles for plan in plans]
    assert all(more <= 1.05 * less for less, more in pairwise(cycles)), cycles


def test_tiles_that_roll_load_everything_once():
    """Also what the first windows need, and no weights again."""
    search = search_of(PAIR, 4096)
    plans = [
        search.plan_for((1, 64, rows, 56), sliding_axis=2, stages=2)
        for rows in (4, 8, 16)
    ]
    whole = search.single_tile_plan()

    assert whole is not None
    assert {plan and plan.cost.payload_bytes for plan in plans} == {
        whole.cost.payload_bytes
    }


@pytest.mark.parametrize("text", [CONVOLUTION, TWICE, SUMS, LONG])
@pytest.mark.parametrize("kibibytes", [256, 4096])
def test_moves_alone_are_no_worse_than_a_plan(text: str, kibibytes: int):
    """So plans of which the moves are worse need no further price."""
    search = search_of(text, kibibytes)
    search.find_best()
    plans = [plan for plan in search.known_plans.values() if plan is not None]

    assert plans
    assert all(plan.min_rank_from_moves <= plan.rank[0] for plan in plans)


@pytest.mark.parametrize("text", [PAIR, STRIDED, SUMS])
@pytest.mark.parametrize("kibibytes", [256, 4096])
def test_no_plan_beats_the_bound_for_as_many_tiles(text: str, kibibytes: int):
    """So neither the plan, nor its tiles before, need to be evaluated."""
    search = search_of(text, kibibytes)
    search.find_best_plans(1)
    bounds, plans = search.lower_bounds, search.known_plans.values()

    assert bounds is not None
    for plan in plans:
        if plan is not None:
            pairs = zip(search.axes.parallel, plan.tile_sizes, strict=True)
            count = prod(-(-extent // size) for extent, size in pairs)
            about = count, search.residency
            rough = bounds.min_rank_of_tiles(*about)
            assert rough <= bounds.min_rank_of_tiles(*about, plan.cost) <= plan.rank[0]
            for fewer in range(1, count + 1):
                assert bounds.min_rank_of_more_tiles(fewer, search.residency) <= rough


def test_plans_that_are_not_evaluated_are_no_better():
    counts = [0, 0]
    for text in (PAIR, TWICE, SQUARE):
        pruned, exhaustive = (search_of(text, 512) for _ in range(2))
        exhaustive.is_exhaustive = True
        found, best = pruned.find_best(), exhaustive.find_best()

        assert found is not None
        assert best is not None
        assert (found.plan_key, found.rank) == (best.plan_key, best.rank)
        counts[0] += len(pruned.known_plans)
        counts[1] += len(exhaustive.known_plans)
    assert counts[0] < counts[1]


def test_more_tiles_are_in_flight_where_this_is_faster():
    """Small ones take less time than the latency of the memory."""
    search = search_of(SUMS, 64, "npu-tiny")
    plan = search.find_best()

    assert plan is not None
    assert plan.stages > 2
    double = search.plan_for(plan.tile_sizes, plan.sliding_axis, 2)
    deeper = search.plan_for(plan.tile_sizes, plan.sliding_axis, plan.stages + 1)
    assert double is not None
    assert double.cost.total_cycles > plan.cost.total_cycles
    assert deeper is None or deeper.cost.total_cycles >= plan.cost.total_cycles


def test_loops_inside_start_again():
    """
    The simulator finds 49,400 cycles for columns in the rows of the first plan, which
    wait for stores at the end of each row, and 47,500 for strips.
    """
    search = search_of(SQUARE, 16384)
    nested = search.plan_for((256, 128), None, 2)
    strips = search.plan_for((64, 512), None, 2)

    assert nested is not None
    assert strips is not None
    assert 47_000 < strips.cost.total_cycles < nested.cost.total_cycles < 52_000


def test_strips_fill_the_array():
    """8 of 56 rows are whole passes in nearer tiles, and few are soon there."""
    plan = search_of(TWICE, 16384).find_best()

    assert plan is not None
    assert plan.tile_sizes == (1, 64, 8, 56)
    assert plan.sliding_axis == 2


def moved_in(cost: OuterCost) -> float:
    """The cycles of the channel."""
    return cost.loads.cycles + cost.stores.cycles


@pytest.mark.parametrize(
    ("text", "nearest"), [(CONVOLUTION, 1.6), (PAIR, 3), (STRIDED, 6)]
)
@pytest.mark.parametrize("kibibytes", [160, 1024])
def test_no_plan_beats_the_bound(text: str, nearest: float, kibibytes: int):
    search = search_of(text, kibibytes)
    bound = search.lower_bounds
    assert bound is not None
    least = bound.bound_with_residency(search.residency)

    search.find_best_plans(1)
    costs = [plan.cost for plan in search.known_plans.values() if plan is not None]

    assert len(costs) > 3
    assert all(least.cycles <= cost.total_cycles for cost in costs)
    assert all(least.bytes <= cost.payload_bytes for cost in costs)
    assert all(least.channel_time <= moved_in(cost) for cost in costs)
    assert min(cost.total_cycles for cost in costs) <= nearest * least.cycles


def test_bound_has_whole_bursts():
    """The 4,000 bytes of the results take 16 bursts of 256."""
    search = search_of(SUMS, 4096)
    bound, whole = search.lower_bounds, search.single_tile_plan()

    assert bound is not None
    assert whole is not None
    assert whole.cost.stores.bytes == 4000
    assert whole.cost.stores.cycles * search.model.bandwidth == 4096
    assert bound.bound_with_residency(search.residency).channel_time == pytest.approx(
        moved_in(whole.cost)
    )


def test_products_are_computed_anew_for_two_tiles():
    """Channels of the second product need all of the first one."""
    search = search_of(PAIR, 4096)
    assert not search.axes.free[1]

    search.find_best_plans(1)
    plan = search.known_plans[(1, 32, 56, 56), None, 2, False]
    whole = search.single_tile_plan()
    assert plan is not None
    assert whole is not None
    assert plan.cost.compute_cycles > whole.cost.compute_cycles / 2


def test_any_size_of_a_short_axis_is_near():
    assert tile_sizes_near_best(7) == (1, 2, 3, 4, 5, 6, 7)
    assert tile_sizes_near_best(56) == tile_size_options(56)


def test_bound_of_strided_reads_counts_what_is_used():
    """Single rows and columns are a quarter of what one tile holds."""
    search = search_of(STRIDED, 1024)
    least = search.plan_for((1, 128, 1, 1), None, 1)
    bound, whole = search.lower_bounds, search.single_tile_plan()

    assert bound is not None
    assert whole is not None
    assert least is not None
    assert (
        bound.bound_with_residency(search.residency).bytes
        == least.cost.payload_bytes
        < whole.cost.payload_bytes
    )


def test_long_factors_come_in_pieces():
    """A tile of two whole factors is thin, and uses little of the array."""
    search = search_of(LONG, 256)
    whole, plan = TileSearch.find_best(search), search.find_best()

    assert whole is not None
    assert plan is not None
    assert plan.tile_sizes == (48, 48)
    assert plan.reduction_tile_sizes < (6000,)
    assert plan.cost.total_cycles < whole.cost.total_cycles / 2
    assert search.plan_for(*plan.plan_key) is plan
    assert (
        search.find_best_plans(1)[0].reduction_tile_sizes == plan.reduction_tile_sizes
    )
    assert search.lower_bounds is not None
    assert (
        search.lower_bounds.bound_with_residency(search.residency).cycles
        <= plan.cost.total_cycles
    )


def test_whole_factors_need_not_fit():
    """Of a reduction, the smallest piece has to."""
    search = search_of(LONG, 16)
    least, plan = search.min_bytes(), search.find_best()

    assert TileSearch.find_best(search) is None
    assert least is not None
    assert least <= search.capacity
    assert plan is not None
    assert plan.required_bytes <= search.capacity


def test_images_roll_one_after_the_other_or_together():
    """High strips of one image are looked at, too, not only low ones of many."""
    searched = search_of(PAIR.replace("tensor<1x", "tensor<16x"), 1024)
    rolled = [
        plan.tile_sizes
        for plan in searched.find_best_plans(1000)
        if plan.sliding_axis == 2
    ]
    assert any(images == 1 and rows > 8 for images, _, rows, _ in rolled)
    assert any(images > 4 and rows < 4 for images, _, rows, _ in rolled)


@pytest.mark.parametrize(
    ("program", "sizes"), [(SUMS, (500,)), (LONG, (48, 48, 3000)), (LONG, (24, 48))]
)
def test_two_iterations_are_one_program_however_many_may_be_in_flight(
    program: str, sizes: tuple[int, ...]
):
    search = search_of(program, 2048)
    one, *others = (search.plan_for(sizes, None, stages) for stages in (1, 2, 3, 4))
    keys = {each.program_key for each in others if each is not None}
    assert one is not None
    assert None not in others
    assert keys == {(sizes, None, 2, False)} != {one.program_key}


def test_more_iterations_in_flight_are_another_program():
    search = search_of(SUMS, 2048)
    plans = [search.plan_for((250,), None, stages) for stages in (2, 3, 4, 5)]
    stages = [each.program_key[2] for each in plans if each is not None]
    assert stages == [2, 3, 4, 4]
