"""Scans in all element types, along each dimension."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

INTEGERS: Mapping[str, np.ufunc] = {
    "addi": np.add,
    "muli": np.multiply,
    "maxsi": np.maximum,
    "minsi": np.minimum,
}

FLOATS: Mapping[str, np.ufunc] = {
    "addf": np.add,
    "mulf": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}

PROGRAM = """
func.func @main(%x: memref<4x8x2x{T}, "L3">, %y: memref<4x8x2x{T}, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %v = mem.load %x[0, 0, 0] size [4, 8, 2]
      : memref<4x8x2x{T}, "L3"> -> tensor<4x8x2x{T}>
  %s = mem.scan ins(%v : tensor<4x8x2x{T}>) dim {dim} {direction} domain [4, 8, 2]
      maps [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>] {{
  ^bb0(%e: {T}, %t: {T}):
    %z = arith.{name} %t, %e : {T}
    mem.yield %z : {T}
  }} -> tensor<4x8x2x{T}>
  mem.store %s to %y[0, 0, 0] : tensor<4x8x2x{T}> to memref<4x8x2x{T}, "L3">
  func.return
}}
"""


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_integers_are_scanned_in_their_type(
    element: str, name: str, dim: int, check: Check
):
    dtype = np.dtype(f"int{element[1:]}")
    array = np.random.default_rng(3).integers(-100, 100, (4, 8, 2)).astype(dtype)
    found = check(
        PROGRAM.format(T=element, name=name, dim=dim, direction=""), {"x": array}
    )
    with np.errstate(all="ignore"):
        expected = INTEGERS[name].accumulate(array, axis=dim, dtype=dtype)
    np.testing.assert_array_equal(found["y"], expected)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_floats_are_scanned_in_f32(element: str, name: str, dim: int, check: Check):
    dtype = f"float{element[1:]}"
    array = (
        np.random.default_rng(3)
        .choice([-2, -1, -0.5, 0.5, 1, 2, 3], (4, 8, 2))
        .astype(dtype)
    )
    found = check(
        PROGRAM.format(T=element, name=name, dim=dim, direction=""), {"x": array}
    )
    wide = FLOATS[name].accumulate(array.astype(np.float32), axis=dim)
    np.testing.assert_array_equal(found["y"], wide.astype(array.dtype))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", FLOATS)
def test_reversed_scans(name: str, dim: int, check: Check):
    array = np.random.default_rng(4).choice([-2, -1, 1, 3], (4, 8, 2))
    text = PROGRAM.format(T="f32", name=name, dim=dim, direction="reverse")
    found = check(text, {"x": array.astype(np.float32)})
    total = FLOATS[name].accumulate(np.flip(array, dim), axis=dim)
    np.testing.assert_array_equal(found["y"], np.flip(total, dim))


@pytest.mark.parametrize("name", FLOATS)
def test_special_values_reach_all_later_elements(name: str, check: Check):
    array = np.ones((4, 8, 2), np.float32)
    array[1, 3] = [np.nan, np.inf]
    array[2, 5] = [-np.inf, -np.inf]
    found = check(PROGRAM.format(T="f32", name=name, dim=1, direction=""), {"x": array})
    with np.errstate(all="ignore"):
        expected = FLOATS[name].accumulate(array, axis=1)
    np.testing.assert_array_equal(found["y"], expected)
