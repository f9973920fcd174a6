"""The search of tiles for the nearest level."""

from itertools import product
from math import inf, prod
from random import Random

import pytest
from only_group import only_group

from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects.target import load_target_spec
from tlf.planner.cost.npu.candidate_forms import CandidateForms, FormCandidate
from tlf.planner.cost.npu.candidate_shortlist import rank_of_candidate
from tlf.planner.cost.npu.inner_cost_model import InnerCostModel
from tlf.planner.cost.npu.inner_search import InnerSearch
from tlf.planner.cost.npu.iterations_in_flight import SINGLE, IterationsInFlight
from tlf.planner.cost.npu.program_estimate import ProgramEstimate
from tlf.planner.cost.npu.tile_footprint import TileBuffers
from tlf.planner.cost.npu.tile_size_options import tile_size_options

CONVOLUTION = """
func.func @conv(%x: tensor<1x64x10x{columns}xf16>, %w: tensor<64x64x3x3xf16>)
    -> tensor<1x64x8x{columns}xf16> {{
  %y = graph.conv2d %x, %w padding [0, 1, 0, 1]
      : (tensor<1x64x10x{columns}xf16>, tensor<64x64x3x3xf16>)
      -> tensor<1x64x8x{columns}xf16>
  func.return %y : tensor<1x64x8x{columns}xf16>
}}
"""

NARROW = """
func.func @narrow(%x: tensor<1x256x8x56xf16>, %w: tensor<64x256x1x1xf16>,
    %b: tensor<64x1x1xf32>) -> tensor<1x64x8x56xf16> {
  %0 = graph.conv2d %x, %w
      : (tensor<1x256x8x56xf16>, tensor<64x256x1x1xf16>) -> tensor<1x64x8x56xf32>
  %1 = graph.add %0, %b
      : (tensor<1x64x8x56xf32>, tensor<64x1x1xf32>) -> tensor<1x64x8x56xf32>
  %2 = graph.cast %1 : (tensor<1x64x8x56xf32>) -> tensor<1x64x8x56xf16>
  %y = graph.relu %2 : tensor<1x64x8x56xf16>
  func.return %y : tensor<1x64x8x56xf16>
}
"""

RESIDUAL = """
func.func @residual(%x: tensor<1x64x8x56xf16>, %w: tensor<256x64x1x1xf16>,
    %b: tensor<256x1x1xf32>, %s: tensor<1x256x8x56xf16>) -> tensor<1x256x8x56xf16> {
  %0 = graph.conv2d %x, %w
      : (tensor<1x64x8x56xf16>, tensor<256x64x1x1xf16>) -> tensor<1x256x8x56xf32>
  %1 = graph.add %0, %b
      : (tensor<1x256x8x56xf32>, tensor<256x1x1xf32>) -> tensor<1x256x8x56xf32>
  %2 = graph.cast %1 : (tensor<1x256x8x56xf32>) -> tensor<1x256x8x56xf16>
  %y = graph.add %2, %s : tensor<1x256x8x56xf16>
  func.return %y : tensor<1x256x8x56xf16>
}
"""

DEPTHWISE = """
func.func @depthwise(%x: tensor<1x64x28x28xf16>, %w: tensor<64x1x5x5xf16>)
    -> tensor<1x64x28x28xf16> {
  %y = graph.conv2d %x, %w padding [2, 2, 2, 2] groups 64
      : (tensor<1x64x28x28xf16>, tensor<64x1x5x5xf16>) -> tensor<1x64x28x28xf16>
  func.return %y : tensor<1x64x28x28xf16>
}
"""

PRODUCT = """
func.func @matmul(%a: tensor<{m}x{k}xf16>, %b: tensor<{k}x{n}xf16>)
    -> tensor<{m}x{n}xf16> {{
  %c = graph.matmul %a, %b : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>)
      -> tensor<{m}x{n}xf16>
  %d = graph.relu %c : tensor<{m}x{n}xf16>
  func.return %d : tensor<{m}x{n}xf16>
}}
"""

GATE = """
func.func @gate(
    %a: tensor<512x512xf16>, %b: tensor<512x512xf16>, %g: tensor<512x512xf16>
) -> tensor<512x512xf16> {
  %c = graph.matmul %a, %b : (tensor<512x512xf16>, tensor<512x512xf16>)
      -> tensor<512x512xf16>
  %d = graph.mul %c, %g : tensor<512x512xf16>
  func.return %d : tensor<512x512xf16>
}
"""

SOFTMAX = """
func.func @softmax(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %y = graph.softmax %x axis 1 : (tensor<256x512xf32>) -> tensor<256x512xf32>
  func.return %y : tensor<256x512xf32>
}
"""

HEADS = """
func.func @heads(%a: tensor<512x12x64xf16>, %b: tensor<12x64x768xf16>)
    -> tensor<512x768xf16> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, h, k) -> (m, h, k)>,
      affine_map<(m, n, h, k) -> (h, k, n)>, affine_map<(m, n, h, k) -> (m, n)>]
      : (tensor<512x12x64xf16>, tensor<12x64x768xf16>) -> tensor<512x768xf16>
  %d = graph.relu %c : tensor<512x768xf16>
  func.return %d : tensor<512x768xf16>
}
"""


def search(text: str, preset: str) -> InnerSearch:
    """The search for the only group of a program."""
    target = load_target_spec(preset)
    group = only_group(text, target, "level=L1")
    members, level = members_of_group_op(group), target.levels["L1"]
    machinery = InnerCostModel(target, level)
    axes = members.tileable_axes(machinery.rules)
    return InnerSearch(members, axes, level, machinery)


def test_channels_by_themselves_are_cut_before_images():
    """A channel lies along no side of the array: its whole image takes 64 steps."""
    found = search(DEPTHWISE, "npu").find_best()
    assert found is not None
    _, channels, _, *image = found.tile_sizes
    assert image == [28, 28]
    assert channels < 32


def test_many_filters_stay_together():
    assert {
        sizes[1] for sizes in search(CONVOLUTION.format(columns=56), "npu").grid_sizes()
    } == {32, 64}


FEW_FILTERS = """
    func.func @f(%x: tensor<1x12x560x32xf16>, %w: tensor<12x12x3x3xf16>)
        -> tensor<1x12x560x32xf16> {
      %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
          : (tensor<1x12x560x32xf16>, tensor<12x12x3x3xf16>) -> tensor<1x12x560x32xf16>
      func.return %0 : tensor<1x12x560x32xf16>
    }
"""


def test_sums_in_pieces_leave_room_for_sizes_of_whole_ones():
    """Only the grid of those that are cut is made coarser for the sizes of pieces."""
    searched = search(FEW_FILTERS, "npu")
    grid = searched.grid_sizes()
    whole = {sizes[:4] for sizes in grid if sizes[4:] == (12, 3, 3)}
    pieces = {sizes[:4] for sizes in grid if sizes[4:] == (4, 3, 3)}
    assert pieces < whole
    best = searched.find_best()
    assert best is not None
    assert best.reduction_tile_sizes == (12, 3, 3)


@pytest.mark.parametrize("columns", [56, 224])
def test_tiles_of_images_fill_the_array(columns: int):
    """Rows of 56 columns are no multiple of the array's 64, rows and columns are."""
    found = search(CONVOLUTION.format(columns=columns), "npu").find_best()
    assert found is not None
    assert prod(found.tile_sizes[-2:]) % 64 == 0


def test_room_is_left_where_that_costs_little():
    """Of tiles that take about as long, those are chosen that take much less room."""
    searched = search(NARROW, "npu")
    found = searched.find_best()
    assert found is not None
    known = [
        each for each in searched.simulated_candidates.values() if each is not None
    ]
    fastest = min(known, key=rank_of_candidate)
    assert fastest.moved_bytes > searched.level.capacity / 2
    assert found.moved_bytes <= 0.75 * fastest.moved_bytes
    assert found.cycles <= 1.01 * fastest.cycles


def test_larger_tiles_that_take_no_longer_are_chosen():
    """Short moves wait more often for those of other levels."""
    searched = search(PRODUCT.format(m=1, n=128, k=512), "u85-like")
    found = searched.find_best()
    assert found is not None
    known = [
        each for each in searched.simulated_candidates.values() if each is not None
    ]
    fastest = min(known, key=rank_of_candidate)
    assert prod(found.tile_sizes) >= 2 * prod(fastest.tile_sizes)
    assert found.reduction_tile_sizes == fastest.reduction_tile_sizes
    assert found.cycles <= 1.002 * fastest.cycles
    assert found.moved_bytes <= searched.level.capacity / 2


@pytest.mark.parametrize(("m", "n", "k"), [(16, 24, 24)])
def test_little_is_lost_to_all_sizes(m: int, n: int, k: int):
    """The time of the chosen tiles against that of all options of sizes and stages."""
    searched = search(PRODUCT.format(m=m, n=n, k=k), "npu-tiny")
    found = searched.find_best()
    extents = (*searched.axes.parallel, *searched.axes.reduction)
    sizes = product(*map(tile_size_options, extents))
    timed = (
        searched.simulated_candidate_for(each, n)
        for each in sizes
        for n in searched.counts
    )
    least = min(each.cycles for each in timed if each is not None)
    assert found is not None
    assert found.cycles <= 1.05 * least


def test_little_work_is_divided():
    """A softmax that fits as a whole takes as long as with the best of all options."""
    searched = search(SOFTMAX.replace("256", "8"), "npu")
    extents = (*searched.axes.parallel, *searched.axes.reduction)
    single = searched.simulated_candidate_for(extents, SINGLE)
    found = searched.find_best()
    assert single is not None
    assert found is not None
    options = map(tile_size_options, extents)
    timed = (
        searched.simulated_candidate_for(sizes, stages)
        for sizes in product(*options)
        for stages in searched.counts
    )
    least = min(each.cycles for each in timed if each is not None)
    assert found.cycles <= 1.05 * least < single.cycles


def test_what_follows_a_sum_holds_up_none_of_its_loads():
    """
    An operand multiplied with a product is loaded after the reduction tiles of the
    product.
    """
    sizes, stages = (64, 64, 256), IterationsInFlight(2, 2)
    plain = search(PRODUCT.format(m=512, n=512, k=512), "npu").simulated_candidate_for(
        sizes, stages
    )
    gated = search(GATE, "npu").simulated_candidate_for(sizes, stages)
    assert plain is not None
    assert gated is not None
    assert gated.cycles <= 1.05 * plain.cycles


def test_what_is_computed_in_place_keeps_its_slot():
    """A row of a softmax is loaded once the one before is done, not merely read."""
    searched = search(SOFTMAX, "npu")
    single, double = (
        searched.simulated_candidate_for((4, 512), IterationsInFlight(n, n))
        for n in (1, 2)
    )
    assert single is not None
    assert double is not None
    assert single.cycles > 1.3 * double.cycles


def test_pieces_of_a_sum_overlap_where_tiles_have_no_room_to():
    """Three pieces take less room with two tiles in flight than with three."""
    searched = search(PRODUCT.format(m=512, n=512, k=768), "npu")
    needed_by = [
        searched.simulated_candidate_for((128, 128, 64), IterationsInFlight(tiles, 3))
        for tiles in (1, 2, 3)
    ]
    known = [each.moved_bytes for each in needed_by if each is not None]
    assert known == sorted(known)
    assert len({*known}) > 1


def test_sums_along_several_axes_are_cut_together():
    """Of 12 heads with 64 columns each, fewer are as good a piece as all."""
    searched = search(HEADS, "npu")
    found = searched.find_best()
    assert found is not None
    assert prod(found.reduction_tile_sizes) < 12 * 64


def test_pieces_of_windows_count_their_taps():
    """With 3 x 3 taps, few channels keep the array busy while the first are loaded."""
    searched = search(CONVOLUTION.format(columns=56), "npu")
    found = searched.find_best()
    assert found is not None
    assert found.reduction_tile_sizes[0] < 32
    many = searched.simulated_candidate_for(
        (*found.tile_sizes, 32, *found.reduction_tile_sizes[1:]), found.stages
    )
    assert many is None or many.cycles > found.cycles


def test_short_products_have_four_tiles_in_flight():
    """A product of 64 steps drains from the array for twice as long."""
    searched = search(RESIDUAL, "npu")
    found = searched.find_best()
    assert found is not None
    sizes = (*found.tile_sizes, *found.reduction_tile_sizes)
    assert found.stages.tiles == 4
    three = searched.simulated_candidate_for(sizes, IterationsInFlight(3, 3))
    assert three is not None
    assert three.cycles > 1.05 * found.cycles


def test_what_takes_little_longer_is_known():
    searched = search(NARROW, "npu")
    best = searched.find_best()
    assert best is not None
    first, *others = searched.candidates_near_best(best)
    assert first == best
    assert others == sorted(others, key=rank_of_candidate)
    assert best not in others
    assert all(8 * each.cycles <= 9 * best.cycles for each in others)
    slower = [
        e
        for e in searched.simulated_candidates.values()
        if e and e not in (best, *others)
    ]
    assert all(8 * each.cycles > 9 * best.cycles for each in slower)


@pytest.mark.parametrize(
    "text",
    [CONVOLUTION.format(columns=56), PRODUCT.format(m=100, n=90, k=130), HEADS],
    ids=["conv2d", "matmul", "heads"],
)
def test_estimates_need_no_buffers(text: str):
    """Costs without accesses are those of the program that is simulated."""
    searched = search(text, "npu")
    grid = searched.grid_sizes()
    for sizes in Random(2).sample(grid, min(40, len(grid))):
        count = len(searched.axes.parallel)
        tiling = searched.members.analyze_tiles_of_sizes(
            sizes[:count], sizes[count:], searched.cost_model.rules
        )
        program = searched.cost_model.build_program(tiling, SINGLE)
        estimate = searched.cost_model.estimate_program(tiling)
        assert estimate == ProgramEstimate.of(program)


@pytest.mark.parametrize("text", [NARROW, RESIDUAL, GATE])
def test_what_busy_engines_rule_out_is_no_alternative(
    text: str, monkeypatch: pytest.MonkeyPatch
):
    pruned, exhaustive = (search(text, "npu") for _ in range(2))
    best = pruned.find_best()
    monkeypatch.setattr(InnerSearch, "_max_cycles_of_alternatives", inf)

    assert best is not None
    assert best == exhaustive.find_best()
    assert pruned.candidates_near_best(best) == exhaustive.candidates_near_best(best)
    simulated = [
        sum(each is not None for each in search.simulated_candidates.values())
        for search in (pruned, exhaustive)
    ]
    assert simulated[0] < simulated[1]


@pytest.mark.parametrize(
    "text",
    [CONVOLUTION.format(columns=56), PRODUCT.format(m=100, n=90, k=130), HEADS, GATE],
    ids=["conv2d", "matmul", "heads", "gate"],
)
def test_closed_forms_are_those_of_tilings(text: str):
    """Estimates and peak bytes of the grid need no tiling, and equal those of one."""
    searched = search(text, "npu")
    model, steps = searched.cost_model, searched.steps
    forms = CandidateForms(searched.members, searched.axes, model, steps)
    closed = 0
    for sizes in searched.grid_sizes():
        candidate = forms.candidate_of(sizes)
        count = len(searched.axes.parallel)
        tiling = searched.members.analyze_tiles_of_sizes(
            sizes[:count], sizes[count:], model.rules
        )
        assert candidate is not None
        assert candidate.estimate == model.estimate_program(tiling)
        buffers = TileBuffers(tiling, steps=steps)
        for stages in searched.counts:
            assert candidate.peak_bytes_of(stages) == buffers.peak_bytes_of(stages)
        closed += isinstance(candidate, FormCandidate)
    assert closed > len(searched.grid_sizes()) // 2


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_peak_bytes_are_those_of_the_footprint(stages: int):
    searched = search(HEADS, "npu")
    in_flight = IterationsInFlight(stages, stages + 1)
    for sizes in Random(3).sample(searched.grid_sizes(), 20):
        count = len(searched.axes.parallel)
        tiling = searched.members.analyze_tiles_of_sizes(
            sizes[:count], sizes[count:], searched.cost_model.rules
        )
        buffers = TileBuffers(tiling)
        footprint = buffers.footprint_of(in_flight)
        assert buffers.peak_bytes_of(in_flight) == footprint.peak_bytes


MAPPED = """
func.func @mapped(%x: tensor<{rows}x64xbf16>) -> tensor<{rows}x64xbf16> {{
  %0 = graph.cast %x : (tensor<{rows}x64xbf16>) -> tensor<{rows}x64xf32>
  %1 = graph.expm1 %0 : tensor<{rows}x64xf32>
  %2 = graph.maximum %0, %1
      : (tensor<{rows}x64xf32>, tensor<{rows}x64xf32>) -> tensor<{rows}x64xf32>
  %y = graph.cast %2 : (tensor<{rows}x64xf32>) -> tensor<{rows}x64xbf16>
  func.return %y : tensor<{rows}x64xbf16>
}}
"""


@pytest.mark.parametrize("rows", [512, 1000, 4096])
def test_rough_times_are_near(rows: int):
    """As iterations too small to hide what each waits for are not the best."""
    found = search(MAPPED.format(rows=rows), "npu")
    rough, best = found.find_approximate_best(), found.find_best()
    assert rough is not None
    assert best is not None
    assert rough.cycles <= 1.1 * best.cycles
