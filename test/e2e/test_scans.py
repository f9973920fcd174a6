"""Scans of rows and columns, in loops over tiles that carry totals, and in fusions."""

import numpy as np
import pytest
from differential import compiled_results
from numpy import inf, nan

from tlf.runtime.npu.dtypes import DTYPES

KINDS = ["sum", "prod", "max", "min"]

PLANNED = """
func.func @main(%x: tensor<3x37x{T}>) -> tensor<3x37x{T}> {{
  %y = graph.group ins(%a = %x : tensor<3x37x{T}>)
      plan #graph.plan<L1, tile {tile}, mapping grid> -> (tensor<3x37x{T}>) {{
    %0 = graph.cumulate %a <{kind}> axis {axis} {direction}
        : (tensor<3x37x{T}>) -> tensor<3x37x{T}>
    graph.yield %0 : tensor<3x37x{T}>
  }}
  func.return %y : tensor<3x37x{T}>
}}"""


def check(text: str, inputs: dict[str, np.ndarray], target: str = "h200") -> None:
    """Compare the results of a compiled program with the reference."""
    found = compiled_results(text, inputs, target)
    expected = compiled_results(text, inputs, "reference")
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            mine.astype(np.float64), theirs.astype(np.float64), 1e-5, 1e-5
        )


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("axis", "tile"), [(1, [2, 8]), (1, [1, 64]), (0, [1, 16]), (0, [4, 8])]
)
@pytest.mark.parametrize(
    ("element", "direction"), [("f32", ""), ("i8", ""), ("i64", "reverse")]
)
def test_tiles_of_any_size(
    element: str, direction: str, axis: int, tile: list[int], kind: str
):
    rng = np.random.default_rng(axis)
    array = rng.choice([-2, -1, 1, 1, 2], (3, 37)).astype(DTYPES[element])
    options = {"kind": kind, "axis": axis, "direction": direction}
    check(PLANNED.format(T=element, tile=tile, **options), {"x": array})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tile", [[2, 8], [4, 64]])
@pytest.mark.parametrize("direction", ["", "reverse"])
def test_special_values_pass_from_tile_to_tile(
    direction: str, tile: list[int], kind: str
):
    array = np.ones((3, 37), np.float32)
    array[0, [3, 20]] = [inf, -inf]
    array[1, [0, 11]] = [-inf, nan]
    array[2, [9, 30]] = [0.0, inf]
    options = {"kind": kind, "axis": 1, "direction": direction}
    check(PLANNED.format(T="f32", tile=tile, **options), {"x": array})


LARGE = """
func.func @main(%x: tensor<2x{N}x{T}>) -> tensor<2x{N}x{T}> {{
  %y = graph.cumulate %x <{kind}> axis 1 : (tensor<2x{N}x{T}>) -> tensor<2x{N}x{T}>
  func.return %y : tensor<2x{N}x{T}>
}}"""


@pytest.mark.parametrize(
    ("element", "kind"), [("f16", "sum"), ("bf16", "prod"), ("bf16", "max")]
)
def test_narrow_floats_are_rounded_once(element: str, kind: str):
    array = np.random.default_rng(1).uniform(0.9, 1.1, (2, 301))
    text = LARGE.format(N=301, T=element, kind=kind)
    (found,) = compiled_results(text, {"x": array.astype(DTYPES[element])}, "h200")
    (exact,) = compiled_results(
        LARGE.format(N=301, T="f32", kind=kind),
        {"x": array.astype(DTYPES[element]).astype(np.float32)},
        "reference",
    )
    np.testing.assert_array_equal(
        found.astype(np.float64), exact.astype(DTYPES[element]).astype(np.float64)
    )


FUSED = {
    "sums of a softmax": """
  %p = graph.softmax %x axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %y = graph.cumulate %p <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %z = graph.sub %y, %p : (tensor<3x37xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>""",
    "two scans of one axis": """
  %p = graph.exp %x : tensor<3x37xf32>
  %q = graph.cumulate %p <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %z = graph.cumulate %q <max> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>""",
    "scans of two axes": """
  %p = graph.cumulate %x <sum> axis 0 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %z = graph.cumulate %p <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>""",
    "from the end": """
  %p = graph.unfold %x map affine_map<(i, j) -> (i, j * -1 + 36)> fill 0.0
      : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %q = graph.cumulate %p <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %z = graph.unfold %q map affine_map<(i, j) -> (i, j * -1 + 36)> fill 0.0
      : (tensor<3x37xf32>) -> tensor<3x37xf32>""",
    "before each element": """
  %p = graph.slice %x offsets [0, 0] strides [1, 1]
      : (tensor<3x37xf32>) -> tensor<3x36xf32>
  %q = graph.cumulate %p <sum> axis 1 : (tensor<3x36xf32>) -> tensor<3x36xf32>
  %0 = graph.constant dense<0.0> : tensor<3x1xf32>
  %z = graph.concat %0, %q axis 1
      : (tensor<3x1xf32>, tensor<3x36xf32>) -> tensor<3x37xf32>""",
    "computed elements from the end": """
  %p = graph.exp %x : tensor<3x37xf32>
  %z = graph.cumulate %p <sum> axis 1 reverse
      : (tensor<3x37xf32>) -> tensor<3x37xf32>""",
    "both directions": """
  %p = graph.cumulate %x <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %q = graph.cumulate %x <sum> axis 1 reverse
      : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %z = graph.sub %p, %q : (tensor<3x37xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>""",
    "a sum of a scan": """
  %p = graph.cumulate %x <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %q = graph.reduce %p <sum> axes [1] keepdims : (tensor<3x37xf32>) -> tensor<3x1xf32>
  %z = graph.div %p, %q : (tensor<3x37xf32>, tensor<3x1xf32>) -> tensor<3x37xf32>""",
    "a scan of a product": """
  %w = graph.slice %x offsets [0, 0] strides [1, 1]
      : (tensor<3x37xf32>) -> tensor<3x3xf32>
  %p = graph.matmul %w, %x : (tensor<3x3xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>
  %z = graph.cumulate %p <sum> axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>""",
}


@pytest.mark.parametrize("name", FUSED)
def test_fused_scans(name: str):
    text = (
        f"func.func @main(%x: tensor<3x37xf32>) -> tensor<3x37xf32> {{{FUSED[name]}\n"
        "  func.return %z : tensor<3x37xf32>\n}"
    )
    check(text, {"x": np.random.default_rng(2).normal(size=(3, 37)).astype("float32")})
