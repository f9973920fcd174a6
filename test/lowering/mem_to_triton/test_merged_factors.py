"""Factors of products with axes that are one axis of a matrix: loaded as one axis."""

import pytest
from differential import check, compiled_text, make_case

PROGRAM = """
func.func @f(%x: tensor<40x64x{T}>, %w: tensor<{w}x{T}>) -> tensor<40x{n}x16xf32> {{
  %y = graph.group ins(%u = %x, %v = %w : tensor<40x64x{T}>, tensor<{w}x{T}>)
      plan #graph.plan<L1, tile [32, 4, {b}], reduce [32], mapping grid>
      -> (tensor<40x{n}x16xf32>) {{
    %z = graph.contract %u, %v
        maps [affine_map<(i, a, b, k) -> (i, k)>, affine_map<(i, a, b, k) -> ({axes})>,
              affine_map<(i, a, b, k) -> (i, a, b)>] acc f32
        : (tensor<40x64x{T}>, tensor<{w}x{T}>) -> tensor<40x{n}x16xf32>
    graph.yield %z : tensor<40x{n}x16xf32>
  }}
  func.return %y : tensor<40x{n}x16xf32>
}}"""


def program(
    element: str, n: int, *, is_depth_last: bool = False, columns: int = 16
) -> str:
    axes, shape = (
        ("a, b, k", f"{n}x16x64") if is_depth_last else ("k, a, b", f"64x{n}x16")
    )
    return PROGRAM.format(T=element, w=shape, axes=axes, n=n, b=columns)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("is_depth_last", [False, True])
@pytest.mark.parametrize("n", [8, 6])
@pytest.mark.parametrize("columns", [16, 8])
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_values(element: str, columns: int, n: int, *, is_depth_last: bool):
    case = make_case(program(element, n, is_depth_last=is_depth_last, columns=columns))
    assert check(case, "h200", stages=False) is None


@pytest.mark.parametrize("n", [8, 6])
def test_the_axes_are_loaded_as_one(n: int):
    text = compiled_text(program("f32", n), "h200")
    (load,) = {line for line in text.splitlines() if line.endswith("  # %v")}
    assert "[None, None, :]" not in load
    # Columns beyond the last row are masked as one axis.
    assert ("mask=" in load) == (n == 6)


@pytest.mark.parametrize("is_depth_last", [False, True])
def test_parts_of_rows_are_loaded_as_one(*, is_depth_last: bool):
    text = compiled_text(
        program("f32", 6, is_depth_last=is_depth_last, columns=8), "h200"
    )
    (load,) = {line for line in text.splitlines() if line.endswith("  # %v")}
    assert "[None, None, :]" not in load
    assert "tl.arange(0, 32) % 8" in text
    assert "mask=" in load


WINDOWS = """
func.func @f(%x: tensor<1x7x7x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<1x35x64xf32> {
  %y = graph.group ins(%u = %x, %v = %w : tensor<1x7x7x64xbf16>, tensor<64x64xbf16>)
      plan #graph.plan<L1, tile [1, 32, 64], reduce [32], mapping grid>
      -> (tensor<1x35x64xf32>) {
    %a = graph.im2col %u map affine_map<(n, p, q, k) -> (n, p + 1, q, k)>
        basis [[1], [5, 7], [64]] fill 0.0
        : (tensor<1x7x7x64xbf16>) -> tensor<1x35x64xbf16>
    %z = graph.contract %a, %v
        maps [affine_map<(n, m, c, k) -> (n, m, k)>,
              affine_map<(n, m, c, k) -> (k, c)>,
              affine_map<(n, m, c, k) -> (n, m, c)>] acc f32
        : (tensor<1x35x64xbf16>, tensor<64x64xbf16>) -> tensor<1x35x64xf32>
    graph.yield %z : tensor<1x35x64xf32>
  }
  func.return %y : tensor<1x35x64xf32>
}"""


def test_windows_of_one_image_are_loaded_as_a_matrix():
    assert check(make_case(WINDOWS), "h200", stages=False) is None
    lines = compiled_text(WINDOWS, "h200").splitlines()
    (load,) = {line for line in lines if line.lstrip().startswith("v1 = tl.load(p0")}
    assert "[:, None]" in load
    assert "None, None" not in load
