"""Estimated time of nests over inner tiles for a tile of an outer level."""

import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path

import pytest
from only_group import only_group

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.nest_work import NestThroughput, NestWork
from tlf.planner.cost.npu.npu_estimator import predict_nests_of
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.tools.tlf_run import main as run

pytestmark = pytest.mark.usefixtures("first_plans")

TWICE = """
func.func @twice(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %0 = graph.exp %x : tensor<64x256xf32>
  %y = graph.add %0, %x : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  func.return %y : tensor<64x256xf32>
}
"""

GELU = """
func.func @gelu(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> {
  %y = graph.gelu %x <erf> : tensor<64x2048xf32>
  func.return %y : tensor<64x2048xf32>
}
"""

SOFTMAX = """
func.func @softmax(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %y = graph.softmax %x axis 1 : (tensor<256x512xf32>) -> tensor<256x512xf32>
  func.return %y : tensor<256x512xf32>
}
"""

ARRAY, VECTOR, LOAD, STORE = range(4)
PACE = NestThroughput(
    issue_cycles=4,
    half_memory_fill_cycles=100,
    matrix_engine=ARRAY,
    move_engines=(LOAD, STORE),
)


def work(instructions: int, **busy: float) -> NestWork:
    numbers = {"array": ARRAY, "vector": VECTOR, "load": LOAD, "store": STORE}
    return NestWork({numbers[k]: v for k, v in busy.items()}, {}, instructions)


def works(text: str, target: TargetSpec) -> list[NestWork]:
    """
    Return the work of the nests of a group of all operations, for the tile of
    everything.
    """
    level = target.levels["L2"]
    members = members_of_group_op(only_group(text, target, "level=L2"))
    nests = predict_nests_of(members, target)
    model = OuterCostModel(target, level)
    tiling = members.analyze_tiles_of_sizes((64, 256), (), model.rules)
    return list(model.work_by_nest(tiling, nests).values())


def test_what_two_operations_of_a_nest_read_is_moved_once():
    target = load_target_spec("npu")
    (nest,) = works(TWICE, target)

    level, size = target.levels["L2"], 64 * 256 * 4
    queue = OuterCostModel(target, level).pace.move_engines[0]
    assert nest.busy_cycles_by_engine[queue] == size / level.bandwidth


def test_nearer_tiles_that_are_no_products_are_thin():
    """800 cycles of loads, in tiles of at least 8: 100 tiles of 2 instructions."""
    nest = work(2, vector=200, load=800, store=400)

    assert nest.estimate_cycles(PACE) == 800 + 600 / 100


def test_products_fill_the_memory_as_far_as_need_be():
    assert work(2, array=800, load=400).estimate_cycles(PACE) == 800 + 100
    assert work(2, array=800, load=40).estimate_cycles(PACE) == 800 + 40


def test_a_small_memory_takes_many_instructions():
    """Of 8 fills there are 8 nearer tiles at least, of 50 instructions each."""
    assert work(50, vector=200, load=400, store=400).estimate_cycles(PACE) == 8 * 50 * 4


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("program", [GELU, SOFTMAX])
@pytest.mark.parametrize("chip", ["npu", "u85-like", "npu-tiny", "bm1684x-like"])
def test_the_formula_is_near_the_simulator(
    program: str, chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The estimate holds where no product hides the time of moves."""
    file = tmp_path / "program.mlir"
    file.write_text(program, encoding="utf-8")
    run([str(file), "--target", chip, "--timing", "--groups"])

    told = capsys.readouterr().out.replace(",", "")
    found = re.search(r"^groups .*predicted (\d+) simulated (\d+)", told, re.MULTILINE)
    assert found is not None
    predicted, simulated = map(int, found.groups())
    assert 0.8 < predicted / simulated < 1.2


RESIDUAL = """
func.func @residual(%x: tensor<1x64x32x64xf16>, %v: tensor<64x64x1x1xf16>,
                    %w: tensor<64x64x3x3xf16>) -> tensor<1x64x32x64xf16> {
  %0 = graph.conv2d %x, %v
      : (tensor<1x64x32x64xf16>, tensor<64x64x1x1xf16>) -> tensor<1x64x32x64xf16>
  %1 = graph.conv2d %0, %w padding [1, 1, 1, 1]
      : (tensor<1x64x32x64xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x32x64xf16>
  %y = graph.add %1, %x
      : (tensor<1x64x32x64xf16>, tensor<1x64x32x64xf16>) -> tensor<1x64x32x64xf16>
  func.return %y : tensor<1x64x32x64xf16>
}
"""


def test_nests_that_lead_run_beside_others():
    """Their engines do as much; what waits for nothing adds nothing."""
    target = load_target_spec("npu")
    members = members_of_group_op(
        only_group(RESIDUAL, target, "level=L2 max-contractions=2")
    )
    model = OuterCostModel(target, target.levels["L2"])
    nests = predict_nests_of(members, target)
    tilings = [
        members.analyze_tiles_of_sizes(
            (1, 64, 8, 64), (), model.rules, RollingPolicy(2, has_prefetch=leads)
        )
        for leads in (False, True)
    ]
    apart, beside = (model.compute_cycles_of_tile(tiling, nests) for tiling in tilings)
    found = [*model.work_by_nest(tilings[1], nests).values()]

    products = sum(
        each.busy_cycles_by_engine[model.pace.matrix_engine] for each in found
    )
    assert apart == sum(each.estimate_cycles(model.pace) for each in found)
    assert beside == max(
        products, *(each.estimate_cycles(model.pace) for each in found)
    )
    assert beside < 0.9 * apart


@pytest.mark.parametrize("leads", [False, True])
def test_only_what_is_read_of_a_window_is_moved(leads: bool):
    """The window of the skip holds more rows than either of both nests reads."""
    target = load_target_spec("npu")
    level = target.levels["L2"]
    group = only_group(RESIDUAL, target, "level=L2 max-contractions=2")
    members = members_of_group_op(group)
    model = OuterCostModel(target, level)
    rolling = RollingPolicy(2, has_prefetch=leads)
    tiling = members.analyze_tiles_of_sizes((1, 64, 8, 64), (), model.rules, rolling)
    nests = model.work_by_nest(tiling, predict_nests_of(members, target))

    row = 64 * 64 * 2
    queue = model.pace.move_engines[0]
    moved = [
        each.busy_cycles_by_engine[queue] * level.bandwidth for each in nests.values()
    ]
    fresh = 8 * row + 64 * 64 * 2
    assert sorted(moved) == [fresh, 10 * row + 64 * 64 * 9 * 2 + 8 * row]


def copies_of(texts: Iterable[str], target: TargetSpec) -> Iterator[GroupMembers]:
    """The members of the groups of some programs, with facts in common."""
    facts = OpFactsCache()
    for text in texts:
        group = only_group(text, target, "level=L2 max-contractions=2")
        members = members_of_group_op(group)
        yield GroupMembers(members.operations, members.results, facts)


def test_nests_known_from_other_tiles_and_groups_cost_the_same():
    target = load_target_spec("npu")
    model = OuterCostModel(target, target.levels["L2"])
    for members in copies_of((RESIDUAL, RESIDUAL), target):
        nests = predict_nests_of(members, target)
        steps = ExecutionSteps(members.operations, nests)
        for rows in (8, 4, 8, 16, 32):
            tiling = members.analyze_tiles_of_sizes((1, 64, rows, 64), (), model.rules)
            works = model.work_by_nest(tiling, nests)
            assert model.cycles_by_nest(tiling, nests, steps) == {
                nest: each.estimate_cycles(model.pace) for nest, each in works.items()
            }


def test_nests_of_other_wiring_have_other_keys():
    """The second operand of the sum is the input, or the first result."""
    target = load_target_spec("npu")
    rules = OuterCostModel(target, target.levels["L2"]).rules
    keys = set[Hashable]()
    for members in copies_of(
        (TWICE, TWICE.replace("%0, %x :", "%0, %0 :"), TWICE), target
    ):
        nests = predict_nests_of(members, target)
        steps = ExecutionSteps(members.operations, nests)
        tiling = members.analyze_tiles_of_sizes((64, 256), (), rules)
        (structure,) = steps.nest_structures_of(tiling.tiles)
        keys.add(structure.key)
    assert len(keys) == 2
