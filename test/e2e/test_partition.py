"""Groups that run as one compute what they did apart."""

import pytest
import zoo
from differential import compiled_results, disagreement, make_case

from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import pipelines_for


def partitioned(target: str, strategy: str) -> str:
    """The pipeline of a target, with groups that may run as one."""
    text = pipelines_for(load_target_spec(target))["npu-pipeline"]
    options = f"level=L2 strategy={strategy} max-group-size=4"
    assert "graph-partition{level=L2}" in text
    return text.replace("graph-partition{level=L2}", f"graph-partition{{{options}}}")


@pytest.mark.one_in(8)
@pytest.mark.parametrize("target", ["npu-tiny", "npu"])
@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("bottleneck", "dp"),
        ("bottleneck", "greedy"),
        ("mbconv", "dp"),
        ("resnet18", "dp"),
        ("transformer", "dp"),
        ("random-dag", "dp"),
        ("random-tree", "dp"),
    ],
)
def test_values(name: str, strategy: str, target: str):
    text = str(zoo.WORKLOADS[name].small_module("f32"))
    case = make_case(text)
    results = compiled_results(text, case.inputs, target, partitioned(target, strategy))
    assert disagreement(case, results) is None


FINER = """
func.func @finer(%x: tensor<1x6x{h}x{w}xf32>, %v: tensor<12x6x3x3xf32>,
                 %u: tensor<4x3x3x3xf32>) -> tensor<1x4x{hh}x{ww}xf32> {{
  %0 = graph.conv2d %x, %v padding [1, 1, 1, 1]
      : (tensor<1x6x{h}x{w}xf32>, tensor<12x6x3x3xf32>) -> tensor<1x12x{h}x{w}xf32>
  %1 = graph.reshape %0 : (tensor<1x12x{h}x{w}xf32>) -> tensor<1x3x2x2x{h}x{w}xf32>
  %2 = graph.transpose %1 permutation [0, 1, 4, 2, 5, 3]
      : (tensor<1x3x2x2x{h}x{w}xf32>) -> tensor<1x3x{h}x2x{w}x2xf32>
  %3 = graph.reshape %2 : (tensor<1x3x{h}x2x{w}x2xf32>) -> tensor<1x3x{hh}x{ww}xf32>
  %4 = graph.conv2d %3, %u padding [1, 1, 1, 1]
      : (tensor<1x3x{hh}x{ww}xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x{hh}x{ww}xf32>
  func.return %4 : tensor<1x4x{hh}x{ww}xf32>
}}
"""
"""Channels become pixels, between two convolutions."""

COARSER = """
func.func @coarser(%x: tensor<1x3x{hh}x{ww}xf32>, %v: tensor<3x3x3x3xf32>,
                   %u: tensor<5x12x1x1xf32>) -> tensor<1x5x{h}x{w}xf32> {{
  %0 = graph.conv2d %x, %v padding [1, 1, 1, 1]
      : (tensor<1x3x{hh}x{ww}xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x{hh}x{ww}xf32>
  %1 = graph.reshape %0 : (tensor<1x3x{hh}x{ww}xf32>) -> tensor<1x3x{h}x2x{w}x2xf32>
  %2 = graph.transpose %1 permutation [0, 1, 3, 5, 2, 4]
      : (tensor<1x3x{h}x2x{w}x2xf32>) -> tensor<1x3x2x2x{h}x{w}xf32>
  %3 = graph.reshape %2 : (tensor<1x3x2x2x{h}x{w}xf32>) -> tensor<1x12x{h}x{w}xf32>
  %4 = graph.conv2d %3, %u
      : (tensor<1x12x{h}x{w}xf32>, tensor<5x12x1x1xf32>) -> tensor<1x5x{h}x{w}xf32>
  func.return %4 : tensor<1x5x{h}x{w}xf32>
}}
"""
"""Pixels become channels, between two convolutions."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("strategy", ["dp", "greedy", "unfused"])
@pytest.mark.parametrize("target", ["npu-tiny", "npu"])
@pytest.mark.parametrize("size", [(8, 8), (7, 11)])
@pytest.mark.parametrize("program", [FINER, COARSER])
def test_what_is_seen_under_another_shape(
    program: str, size: tuple[int, int], target: str, strategy: str
):
    h, w = size
    text = program.format(h=h, w=w, hh=2 * h, ww=2 * w)
    case = make_case(text)
    results = compiled_results(text, case.inputs, target, partitioned(target, strategy))
    assert disagreement(case, results) is None


CUT = """
func.func @cut(%x: tensor<2x5x{h}x{w}xf32>, %v: tensor<12x5x3x3xf32>,
               %u: tensor<6x5x3x3xf32>, %t: tensor<6x12x3x3xf32>)
    -> (tensor<2x6x{h}x{w}xf32>, tensor<2x6x{low}x{w}xf32>, tensor<2x5x{h}x{w}xf32>) {{
  %0 = graph.conv2d %x, %v padding [1, 1, 1, 1]
      : (tensor<2x5x{h}x{w}xf32>, tensor<12x5x3x3xf32>) -> tensor<2x12x{h}x{w}xf32>
  %1 = graph.slice %0 offsets [0, 1, 0, 0] strides [1, 1, 1, 1]
      : (tensor<2x12x{h}x{w}xf32>) -> tensor<2x5x{h}x{w}xf32>
  %2 = graph.conv2d %1, %u padding [1, 1, 1, 1]
      : (tensor<2x5x{h}x{w}xf32>, tensor<6x5x3x3xf32>) -> tensor<2x6x{h}x{w}xf32>
  %3 = graph.slice %0 offsets [0, 0, 2, 0] strides [1, 1, 1, 1]
      : (tensor<2x12x{h}x{w}xf32>) -> tensor<2x12x{low}x{w}xf32>
  %4 = graph.conv2d %3, %t padding [1, 1, 1, 1]
      : (tensor<2x12x{low}x{w}xf32>, tensor<6x12x3x3xf32>) -> tensor<2x6x{low}x{w}xf32>
  %5 = graph.slice %0 offsets [0, 7, 0, 0] strides [1, 1, 1, 1]
      : (tensor<2x12x{h}x{w}xf32>) -> tensor<2x5x{h}x{w}xf32>
  %6 = graph.add %1, %5 : tensor<2x5x{h}x{w}xf32>
  func.return %2, %4, %6
      : tensor<2x6x{h}x{w}xf32>, tensor<2x6x{low}x{w}xf32>, tensor<2x5x{h}x{w}xf32>
}}
"""
"""Several read parts of one result, some of them what lies around as well."""


@pytest.mark.one_in(12)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("target", ["npu-tiny", "npu-tiny:L2=32K", "npu"])
@pytest.mark.parametrize("size", [(8, 8), (13, 11), (40, 7)])
def test_what_is_cut(size: tuple[int, int], target: str, groups: int):
    h, w = size
    text = CUT.format(h=h, w=w, low=h - 3)
    case = make_case(text)
    pipeline = partitioned(target, "dp").replace(
        "max-group-size=4", f"max-group-size={groups}"
    )
    results = compiled_results(text, case.inputs, target, pipeline)
    assert disagreement(case, results) is None


SEEN = """
func.func @seen(%x: tensor<{n}x2x{m}xf32>)
    -> (tensor<{n}x{m}xf32>, tensor<{nn}x{m}xf32>) {{
  %0 = graph.exp %x : tensor<{n}x2x{m}xf32>
  %1 = graph.transpose %0 permutation [1, 0, 2]
      : (tensor<{n}x2x{m}xf32>) -> tensor<2x{n}x{m}xf32>
  %2 = graph.reshape %1 : (tensor<2x{n}x{m}xf32>) -> tensor<{nn}x{m}xf32>
  %3 = graph.slice %2 offsets [{n}, 0] strides [1, 1]
      : (tensor<{nn}x{m}xf32>) -> tensor<{n}x{m}xf32>
  %4 = graph.relu %3 : tensor<{n}x{m}xf32>
  %5 = graph.slice %2 offsets [0, 0] strides [1, 1]
      : (tensor<{nn}x{m}xf32>) -> tensor<{n}x{m}xf32>
  %6 = graph.pad %5 low [0, 0] high [{n}, 0] fill -inf
      : (tensor<{n}x{m}xf32>) -> tensor<{nn}x{m}xf32>
  %7 = graph.pad %4 low [{n}, 0] high [0, 0] fill -inf
      : (tensor<{n}x{m}xf32>) -> tensor<{nn}x{m}xf32>
  %8 = graph.maximum %6, %7 : tensor<{nn}x{m}xf32>
  func.return %4, %8 : tensor<{n}x{m}xf32>, tensor<{nn}x{m}xf32>
}}
"""
"""Halves of what is seen under another shape, one of them with something around it."""


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("target", ["npu-tiny", "npu-tiny:L2=256K"])
@pytest.mark.parametrize("size", [(6, 40), (29, 111)])
def test_what_is_cut_from_another_shape(size: tuple[int, int], target: str):
    n, m = size
    text = SEEN.format(n=n, m=m, nn=2 * n)
    case = make_case(text)
    results = compiled_results(text, case.inputs, target, partitioned(target, "dp"))
    assert disagreement(case, results) is None
