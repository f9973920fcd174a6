"""Plans that are chosen to fit in L2 can be placed there."""

import numpy as np
import pytest
import zoo
from differential import compiled_results, disagreement, make_case, new_context
from kept_groups import groups_of, run_passes, ungrouped
from xdsl.parser import Parser

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import pipelines_for
from tlf.planner.cost.npu.iterations_in_flight import IterationsInFlight
from tlf.planner.cost.npu.npu_estimator import predict_nests_of
from tlf.planner.cost.npu.tile_footprint import TileBuffers

ENDS = "mem-plan"
"""The pass that says whether buffers fit."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("room", ["8K", "16K"])
@pytest.mark.parametrize("seed", range(6))
def test_planned_room(seed: int, room: str) -> None:
    context, target = new_context(), load_target_spec(f"npu-tiny:L2={room}")
    module = ungrouped(context, np.random.default_rng(seed))
    target.attach_to_module(module)
    passes = pipelines_for(target)["npu-pipeline"]
    first, rest = passes.split("dce,graph-mark-in-place", 1)
    run_passes(context, module, target, f"{first}dce")
    assert all(group.plan is not None for group in groups_of(module))
    run_passes(
        context, module, target, f"graph-mark-in-place{rest.split(',' + ENDS)[0]}"
    )
    run_passes(context, module, target, ENDS)


def test_room_of_what_moves_out() -> None:
    """A result moves out while the next group needs all that there is of L2."""
    case = make_case(str(zoo.WORKLOADS["random-dag"].small_module("f32")))
    results = compiled_results(case.text, case.inputs, "npu-tiny:L2=2K,L1=1K")
    assert disagreement(case, results) is None


@pytest.mark.long
def test_room_of_what_several_groups_read() -> None:
    """Groups load a tensor each by itself, where no plan keeps it near."""
    case = make_case(str(zoo.WORKLOADS["transformer"].small_module("f32")))
    results = compiled_results(case.text, case.inputs, "npu-tiny:L2=8K,L1=2K")
    assert disagreement(case, results) is None


GATED = """
func.func @gated(%x: tensor<2x24x6x6xf16>, %g: tensor<2x24x1x1xf16>,
    %w: tensor<4x24x1x1xf16>) -> tensor<2x4x6x6xf16> {
  %0 = graph.mul %x, %g
      : (tensor<2x24x6x6xf16>, tensor<2x24x1x1xf16>) -> tensor<2x24x6x6xf16>
  %y = graph.conv2d %0, %w
      : (tensor<2x24x6x6xf16>, tensor<4x24x1x1xf16>) -> tensor<2x4x6x6xf16>
  func.return %y : tensor<2x4x6x6xf16>
}
"""
"""A product that is computed anew in a nest only to save moves from and to L3."""

FINER = """
func.func @finer(%x: tensor<1x14x7x12xf16>, %w: tensor<16x14x3x3xf16>)
    -> tensor<1x16x7x12xf16> {
  %y = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x14x7x12xf16>, tensor<16x14x3x3xf16>) -> tensor<1x16x7x12xf16>
  func.return %y : tensor<1x16x7x12xf16>
}
"""
"""A convolution whose channels are cut: all of them start with the same columns."""


LOGSUMEXP = """
func.func @lse(%x: tensor<2x16x8x9xf32>)
    -> tensor<2x1x8x9xf32> {
  %m = graph.reduce %x <max> axes [1] keepdims
      : (tensor<2x16x8x9xf32>) -> tensor<2x1x8x9xf32>
  %a = graph.abs %m : tensor<2x1x8x9xf32>
  %inf = graph.constant dense<0x7f800000> : tensor<f32>
  %c = graph.compare %a, %inf <eq>
      : (tensor<2x1x8x9xf32>, tensor<f32>) -> tensor<2x1x8x9xi1>
  %z = graph.constant dense<0.0> : tensor<f32>
  %s = graph.select %c, %z, %m
      : (tensor<2x1x8x9xi1>, tensor<f32>, tensor<2x1x8x9xf32>) -> tensor<2x1x8x9xf32>
  %d = graph.sub %x, %s
      : (tensor<2x16x8x9xf32>, tensor<2x1x8x9xf32>) -> tensor<2x16x8x9xf32>
  %e = graph.exp %d : tensor<2x16x8x9xf32>
  %t = graph.reduce %e <sum> axes [1] keepdims
      : (tensor<2x16x8x9xf32>) -> tensor<2x1x8x9xf32>
  %l = graph.log %t : tensor<2x1x8x9xf32>
  %y = graph.add %l, %s
      : (tensor<2x1x8x9xf32>, tensor<2x1x8x9xf32>) -> tensor<2x1x8x9xf32>
  func.return %y : tensor<2x1x8x9xf32>
}
"""
"""A shift computed from the running maximum is carried by the loop, too."""

LED = """
func.func @led(%x: tensor<2x12x20x8xf16>, %w: tensor<8x12x3x7xf16>)
    -> tensor<2x8x18x2xf16> {
  %0 = graph.neg %x : tensor<2x12x20x8xf16>
  %y = graph.conv2d %0, %w
      : (tensor<2x12x20x8xf16>, tensor<8x12x3x7xf16>) -> tensor<2x8x18x2xf16>
  func.return %y : tensor<2x8x18x2xf16>
}
"""
"""A convolution of what is computed: its first rows are all there at once."""


@pytest.mark.parametrize(
    ("text", "tile", "stages", "roll"),
    [
        (GATED, (1, 4, 6, 6), 1, None),
        (FINER, (1, 1, 7, 2), 2, RollingPolicy(3)),
        (FINER, (1, 4, 3, 12), 1, RollingPolicy(2)),
        (LED, (1, 8, 1, 2), 1, RollingPolicy(2)),
        (LED, (1, 8, 1, 2), 1, RollingPolicy(2, has_prefetch=True)),
        (LED, (1, 8, 2, 2), 2, RollingPolicy(2, has_prefetch=True)),
    ],
)
def test_room_of_a_plan(
    text: str, tile: tuple[int, ...], stages: int, roll: RollingPolicy | None
) -> None:
    check_room_of_plan(text, tile, stages, roll)


@pytest.mark.parametrize("reduce_tile", [2, 4, 8])
def test_room_of_running_values(reduce_tile: int) -> None:
    check_room_of_plan(LOGSUMEXP, (2, 1, 8, 9), 1, None, (reduce_tile,), "npu")


def check_room_of_plan(
    text: str,
    tile: tuple[int, ...],
    stages: int = 1,
    roll: RollingPolicy | None = None,
    reduce_sizes: tuple[int, ...] = (),
    chip: str = "npu-tiny:L1=1K",
) -> None:
    """A group fits in as much of L2 as its plan is said to take."""
    context, target = new_context(), load_target_spec(chip)
    module = Parser(context, text).parse_module()
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-decompose,tidy,graph-group{level=L2}")
    (group,) = groups_of(module)
    members, rules = members_of_group_op(group), tile_rules_of(target, "L2")
    tiling = members.analyze_tiles_of_sizes(tile, reduce_sizes, rules, roll)
    buffers = TileBuffers(tiling, predict_nests_of(members, target))
    needed = buffers.footprint_of(IterationsInFlight(stages, stages)).peak_bytes
    group.plan = graph.PlanAttr(
        "L2",
        tile,
        reduce_sizes,
        stages=stages,
        sliding=() if roll is None else (roll.axis,),
        prefetch_distance=0 if roll is None else int(roll.has_prefetch),
    )

    small = target.with_capacities({"L2": needed})
    small.attach_to_module(module)
    passes = pipelines_for(small)["npu-pipeline"]
    rest = passes.split("graph-mark-in-place,", 1)[1]
    run_passes(context, module, small, f"{rest.split(f',{ENDS}')[0]},{ENDS}")
