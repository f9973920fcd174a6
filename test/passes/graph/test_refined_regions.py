"""Elementwise operations and reductions around reshapes under one shape."""

from collections.abc import Sequence

import numpy as np
import pytest
from differential import make_case, parsed, steps_of

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import tensor_type
from tlf.passes.graph.graph_hoist_reshapes import GraphHoistReshapesPass
from tlf.passes.graph.refined_regions import find_common_refinement


@pytest.mark.parametrize(
    ("first", "second", "refinement"),
    [
        ((2, 6, 4), (2, 3, 8), (2, 3, 2, 4)),
        ((2, 1, 6), (12,), (2, 6)),
        ((4, 6), (3, 8), None),
        ((0, 4), (2, 0), None),
        ((), (1, 1), ()),
    ],
)
def test_common_refinement(
    first: Sequence[int], second: Sequence[int], refinement: Sequence[int] | None
):
    assert find_common_refinement(first, second) == refinement
    assert find_common_refinement(second, first) == refinement


def normalization(groups: int, channels: int, pixels: int, tail: str = "") -> str:
    """
    Return a group normalization in f32 of images of 16-bit floats, and `tail`, which
    computes `%y` from the normalized images `%n`.
    """
    images = f"2x{channels}x{pixels}x3"
    rows = f"2x{groups}x{channels // groups * pixels * 3}"
    tail = tail.replace("$", images) or f"%y = graph.relu %n : tensor<{images}xf16>"
    return f"""
func.func @main(%x: tensor<{images}xf16>, %w: tensor<{channels}x1x1xf32>,
                %z: tensor<{images}xf16>) -> (tensor<{images}xf16>) {{
  %0 = graph.cast %x : (tensor<{images}xf16>) -> tensor<{images}xf32>
  %1 = graph.reshape %0 : (tensor<{images}xf32>) -> tensor<{rows}xf32>
  %2 = graph.reduce %1 <sum> axes [2] keepdims
      : (tensor<{rows}xf32>) -> tensor<2x{groups}x1xf32>
  %3 = graph.sub %1, %2
      : (tensor<{rows}xf32>, tensor<2x{groups}x1xf32>) -> tensor<{rows}xf32>
  %4 = graph.mul %3, %3 : (tensor<{rows}xf32>, tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %5 = graph.reduce %4 <max> axes [2]
      : (tensor<{rows}xf32>) -> tensor<2x{groups}xf32>
  %6 = graph.reshape %5 : (tensor<2x{groups}xf32>) -> tensor<2x{groups}x1xf32>
  %7 = graph.div %3, %6
      : (tensor<{rows}xf32>, tensor<2x{groups}x1xf32>) -> tensor<{rows}xf32>
  %8 = graph.reshape %7 : (tensor<{rows}xf32>) -> tensor<{images}xf32>
  %9 = graph.mul %8, %w
      : (tensor<{images}xf32>, tensor<{channels}x1x1xf32>) -> tensor<{images}xf32>
  %n = graph.cast %9 : (tensor<{images}xf32>) -> tensor<{images}xf16>
  {tail}
  func.return %y : tensor<{images}xf16>
}}
"""


TAILS = [
    "",
    "%y = graph.add %n, %z : (tensor<$xf16>, tensor<$xf16>) -> tensor<$xf16>",
    """%a = graph.exp %z : tensor<$xf16>
  %y = graph.add %a, %n : (tensor<$xf16>, tensor<$xf16>) -> tensor<$xf16>""",
    """%a = graph.transpose %n permutation [0, 1, 2, 3]
      : (tensor<$xf16>) -> tensor<$xf16>
  %y = graph.mul %a, %n : (tensor<$xf16>, tensor<$xf16>) -> tensor<$xf16>""",
    """%a = graph.reduce %n <max> axes [1, 3] keepdims
      : (tensor<$xf16>) -> tensor<2x1x$Px1xf16>
  %y = graph.sub %n, %a : (tensor<$xf16>, tensor<2x1x$Px1xf16>) -> tensor<$xf16>""",
]
"""Readers of the normalized images."""

SIZES = [(3, 6, 5), (1, 4, 2), (4, 4, 5), (2, 6, 1)]
"""Groups, channels, and rows of pixels."""


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("sizes", SIZES)
def test_normalizations(sizes: tuple[int, int, int], tail: str):
    text = normalization(*sizes, tail.replace("$P", str(sizes[2])))
    context, module = parsed(text)
    inputs = make_case(text).inputs
    before = interpret(module, inputs)

    PassManager([GraphHoistReshapesPass()]).run(context, module)

    groups, channels, pixels = sizes
    split = [each for each in (2, groups, channels // groups) if each != 1]
    (first, *_) = (op for op in module.walk() if isinstance(op, graph.SubOp))
    shape = [each for each in tensor_type(first.result).get_shape() if each != 1]
    assert shape[: len(split)] == split
    is_distinguished = "axes [1, 3]" in tail and pixels > 1
    assert shape[len(split) :] == ([pixels, 3] if is_distinguished else [3 * pixels])
    for left, right in zip(before, interpret(module, inputs), strict=True):
        assert np.allclose(
            left.astype(np.float32), right.astype(np.float32), rtol=2e-3, atol=2e-3
        )


@pytest.mark.parametrize("sizes", SIZES)
def test_a_normalization_is_one_kernel(sizes: tuple[int, int, int]):
    context, module = parsed(normalization(*sizes))
    target = load_target_spec("h200")
    target.attach_to_module(module)

    PassManager(steps_of(target)).run(context, module)

    assert sum(op.name == "triton.launch" for op in module.walk()) == 1


def test_rows_without_images_are_kept():
    text = """
func.func @rows(%x: tensor<2x3x4xf32>) -> tensor<2x12xf32> {
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %1 = graph.reduce %0 <sum> axes [1] keepdims : (tensor<2x12xf32>) -> tensor<2x1xf32>
  %2 = graph.sub %0, %1 : (tensor<2x12xf32>, tensor<2x1xf32>) -> tensor<2x12xf32>
  func.return %2 : tensor<2x12xf32>
}
"""
    context, module = parsed(text)
    before = str(module)

    PassManager([GraphHoistReshapesPass()]).run(context, module)

    assert str(module) == before
