"""
Whole kernels on Triton: values in f32, f16 and bf16 against numpy in float64.
"""

from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np
import pytest

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

DTYPES = ["f32", "f16", "bf16"]

NUMPY = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}

ROUNDING = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}
"""Relative error of one rounding, with a margin for a few operations in f32."""

GRID = "{operandSegmentSizes = array<i32: 1, 1, 1, 0>}"


def random(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape)
    return values.astype(NUMPY[dtype])


def assert_close(got: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    assert got.dtype == NUMPY[dtype]
    tolerance = ROUNDING[dtype]
    np.testing.assert_allclose(
        got.astype(np.float64), expected, rtol=tolerance, atol=tolerance
    )


def rows(body: str, count: int, tile: int) -> str:
    """
    A grid over the rows of a matrix, and constants that bodies use.
    """
    return f"""
  %zero = arith.constant 0 : index
  %count = arith.constant {count} : index
  %tile = arith.constant {tile} : index
  "scf.parallel"(%zero, %count, %tile) <{GRID}> ({{
  ^bb0(%i: index):
{body}
    scf.reduce
  }}) {{mapping = "grid"}} : (index, index, index) -> ()
  func.return"""


def widened(value: str, dtype: str, rank: int, shape: str) -> str:
    """
    `%<value>_wide`, the value in f32.
    """
    dims = ", ".join(f"d{dim}" for dim in range(rank))
    identity = f"affine_map<({dims}) -> ({dims})>"
    extents = ", ".join(shape.split("x"))
    cast = "" if dtype == "f32" else f"%new = arith.extf %old : {dtype} to f32"
    result = "%old" if dtype == "f32" else "%new"
    return f"""
    %{value}_wide = mem.map ins(%{value} : tensor<{shape}x{dtype}>)
        domain [{extents}] maps [{identity}, {identity}] {{
    ^bb1(%old: {dtype}):
      {cast}
      mem.yield {result} : f32
    }} -> tensor<{shape}xf32>"""


def narrowed(value: str, dtype: str, shape: str) -> str:
    """
    `%<value>_narrow`, the value of rank 2 rounded to `dtype`.
    """
    identity = "affine_map<(d0, d1) -> (d0, d1)>"
    extents = ", ".join(shape.split("x"))
    cast = "" if dtype == "f32" else f"%new = arith.truncf %old : f32 to {dtype}"
    result = "%old" if dtype == "f32" else "%new"
    return f"""
    %{value}_narrow = mem.map ins(%{value} : tensor<{shape}xf32>)
        domain [{extents}] maps [{identity}, {identity}] {{
    ^bb1(%old: f32):
      {cast}
      mem.yield {result} : {dtype}
    }} -> tensor<{shape}x{dtype}>"""


MAPS = "affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>"


def reduced(result: str, operation: str, value: str, start: str) -> str:
    """
    `%<result>`, the rows of a 16x64 value combined by `operation`.
    """
    return f"""
    %{result}_start = mem.fill {start} -> tensor<16xf32>
    %{result} = mem.reduce ins(%{value} : tensor<16x64xf32>)
        outs(%{result}_start : tensor<16xf32>) domain [16, 64] maps [{MAPS}] {{
    ^bb1(%x: f32, %a: f32):
      %z = {operation} %x, %a : f32
      mem.yield %z : f32
    }} -> tensor<16xf32>"""


def by_row(result: str, value: str, row: str, operations: str) -> str:
    """
    `%<result>`, a map of a 16x64 value `%x` and a value per row `%r`, giving `%z`.
    """
    return f"""
    %{result} = mem.map ins(%{value}, %{row} : tensor<16x64xf32>, tensor<16xf32>)
        domain [16, 64] maps [{MAPS}, affine_map<(d0, d1) -> (d0, d1)>] {{
    ^bb1(%x: f32, %r: f32):
      {operations}
      mem.yield %z : f32
    }} -> tensor<16x64xf32>"""


def masked(result: str, value: str, fill: str) -> str:
    return f"""
    %{result} = mem.mask %{value} at [%i, 0] bounds [37, 50] fill {fill}
        : tensor<16x64xf32> -> tensor<16x64xf32>"""


def matrix_program(dtype: str, steps: list[str]) -> str:
    """
    37x50 to 37x50 in tiles of 16x64: load `%t`, run `steps`, store `%y_narrow`.
    """
    load = f"""
    %t = mem.load %in[%i, 0] size [16, 64] fill 0.0
        : memref<37x50x{dtype}, "L3"> -> tensor<16x64x{dtype}>"""
    store = f"""
    mem.store %y_narrow to %out[%i, 0]
        : tensor<16x64x{dtype}> to memref<37x50x{dtype}, "L3">"""
    start, end = widened("t", dtype, 2, "16x64"), narrowed("y", dtype, "16x64")
    body = "".join([load, start, *steps, end, store])
    return f"""
func.func @f(%in: memref<37x50x{dtype}, "L3">, %out: memref<37x50x{dtype}, "L3">)
    attributes {{tlf.results = 1 : i64}} {{{rows(body, 37, 16)}
}}"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_with_masked_columns(check: Check, dtype: str) -> None:
    text = matrix_program(
        dtype,
        [
            masked("m", "t_wide", "-inf"),
            reduced("top", "arith.maximumf", "m", "-inf"),
            by_row(
                "e",
                "m",
                "top",
                "%s = arith.subf %x, %r : f32\n%z = math.exp %s : f32",
            ),
            masked("em", "e", "0.0"),
            reduced("sum", "arith.addf", "em", "0.0"),
            by_row("y", "em", "sum", "%z = arith.divf %x, %r : f32"),
        ],
    )
    x = random(dtype, 37, 50)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True)
    assert_close(check(text, {"in": x})["out"], expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm(check: Check, dtype: str) -> None:
    mean = "%n = arith.constant 0.02 : f32\n%m = arith.mulf %r, %n : f32\n"
    variance = (
        f"{mean}%eps = arith.constant 1.0e-5 : f32\n"
        "%v = arith.addf %m, %eps : f32\n%s = math.rsqrt %v : f32\n"
        "%z = arith.mulf %x, %s : f32"
    )
    text = matrix_program(
        dtype,
        [
            reduced("sum", "arith.addf", "t_wide", "0.0"),
            by_row("d", "t_wide", "sum", f"{mean}%z = arith.subf %x, %m : f32"),
            masked("c", "d", "0.0"),
            by_row("q", "c", "sum", "%z = arith.mulf %x, %x : f32"),
            reduced("squares", "arith.addf", "q", "0.0"),
            by_row("y", "c", "squares", variance),
        ],
    )
    x = random(dtype, 37, 50) * 2 + np.ones((), NUMPY[dtype])
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    assert_close(check(text, {"in": x})["out"], expected, dtype)


def linear_program(dtype: str, precision: str) -> str:
    store = f'tensor<32x32x{dtype}> to memref<50x41x{dtype}, "L3">'
    return f"""
func.func @linear(
    %x: memref<50x72x{dtype}, "L3">, %w: memref<72x41x{dtype}, "L3">,
    %b: memref<41x{dtype}, "L3">, %out: memref<50x41x{dtype}, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %zero = arith.constant 0 : index
  %m = arith.constant 50 : index
  %n = arith.constant 41 : index
  %k = arith.constant 72 : index
  %tile = arith.constant 32 : index
  "scf.parallel"(%zero, %zero, %m, %n, %tile, %tile)
      <{{operandSegmentSizes = array<i32: 2, 2, 2, 0>}}> ({{
  ^bb0(%i: index, %j: index):
    %start = mem.fill 0.0 -> tensor<32x32xf32>
    %acc = scf.for %c = %zero to %k step %tile iter_args(%a = %start)
        -> (tensor<32x32xf32>) {{
      %xs = mem.load %x[%i, %c] size [32, 32] fill 0.0
          : memref<50x72x{dtype}, "L3"> -> tensor<32x32x{dtype}>
      %ws = mem.load %w[%c, %j] size [32, 32] fill 0.0
          : memref<72x41x{dtype}, "L3"> -> tensor<32x32x{dtype}>
      %p = mem.contract ins(%xs, %ws : tensor<32x32x{dtype}>, tensor<32x32x{dtype}>)
          outs(%a : tensor<32x32xf32>) domain [32, 32, 32]
          maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                affine_map<(m, n, k) -> (m, n)>]
          precision "{precision}" -> tensor<32x32xf32>
      scf.yield %p : tensor<32x32xf32>
    }} {{stages = 2 : i64}}
    %bs = mem.load %b[%j] size [32] fill 0.0
        : memref<41x{dtype}, "L3"> -> tensor<32x{dtype}>
    {widened("bs", dtype, 1, "32")}
    %y = mem.map ins(%acc, %bs_wide : tensor<32x32xf32>, tensor<32xf32>)
        domain [32, 32]
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
              affine_map<(d0, d1) -> (d0, d1)>] {{
    ^bb1(%s: f32, %t: f32):
      %none = arith.constant 0.0 : f32
      %u = arith.addf %s, %t : f32
      %v = arith.maximumf %u, %none : f32
      mem.yield %v : f32
    }} -> tensor<32x32xf32>
    {narrowed("y", dtype, "32x32")}
    mem.store %y_narrow to %out[%i, %j] : {store}
    scf.reduce
  }}) {{mapping = "grid", order = array<i64: 1, 0>}}
      : (index, index, index, index, index, index) -> ()
  func.return
}}"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_with_bias_and_relu(check: Check, dtype: str) -> None:
    x, w = random(dtype, 50, 72), random(dtype, 72, 41, seed=1)
    b = random(dtype, 41, seed=2)
    got = check(linear_program(dtype, "ieee"), {"x": x, "w": w, "b": b})["out"]
    product = x.astype(np.float64) @ w.astype(np.float64)
    expected = np.maximum(product + b.astype(np.float64), 0)
    np.testing.assert_allclose(
        got.astype(np.float64), expected, rtol=ROUNDING[dtype], atol=1e-5
    )


@pytest.mark.parametrize(("precision", "error"), [("tf32", 5e-2), ("tf32x3", 1e-4)])
def test_input_precision(check: Check, precision: str, error: float) -> None:
    x, w = random("f32", 50, 72), random("f32", 72, 41, seed=1)
    b = random("f32", 41, seed=2)
    got = check(linear_program("f32", precision), {"x": x, "w": w, "b": b})["out"]
    product = x.astype(np.float64) @ w.astype(np.float64)
    expected = np.maximum(product + b.astype(np.float64), 0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=error)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weighted_sum_over_columns(check: Check, dtype: str) -> None:
    body = f"""
    %start = mem.fill 0.0 -> tensor<16xf32>
    %wide = arith.constant 200 : index
    %step = arith.constant 64 : index
    %sum = scf.for %j = %zero to %wide step %step iter_args(%a = %start)
        -> (tensor<16xf32>) {{
      %xs = mem.load %x[%i, %j] size [16, 64] fill 0.0
          : memref<37x200x{dtype}, "L3"> -> tensor<16x64x{dtype}>
      %ws = mem.load %w[%j] size [64] fill 0.0
          : memref<200x{dtype}, "L3"> -> tensor<64x{dtype}>
      %p = mem.contract ins(%xs, %ws : tensor<16x64x{dtype}>, tensor<64x{dtype}>)
          outs(%a : tensor<16xf32>) domain [16, 64]
          maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>,
                affine_map<(m, k) -> (m)>] -> tensor<16xf32>
      scf.yield %p : tensor<16xf32>
    }}
    mem.store %sum to %out[%i] : tensor<16xf32> to memref<37xf32, "L3">"""
    text = f"""
func.func @weighted_sum(%x: memref<37x200x{dtype}, "L3">, %w: memref<200x{dtype}, "L3">,
    %out: memref<37xf32, "L3">) attributes {{tlf.results = 1 : i64}} {{
{rows(body, 37, 16)}
}}"""
    x, w = random(dtype, 37, 200), random(dtype, 200, seed=1)
    got = check(text, {"x": x, "w": w})["out"]
    expected = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)
