"""Combinations with elements of a buffer at indices, in all element types and kinds."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

KINDS: Mapping[str, np.ufunc] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
}

PROGRAM = """
func.func @main(%x: memref<6x9x{T}, "L3">, %n: memref<16x{I}, "L3">,
    %u: memref<16x4x{T}, "L3">, %y: memref<6x9x{T}, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %s = mem.load %x[0, 0] size [8, 16] : memref<6x9x{T}, "L3"> -> tensor<8x16x{T}>
  mem.store %s to %y[0, 0] : tensor<8x16x{T}> to memref<6x9x{T}, "L3">
  %zero = arith.constant 0 : index
  %half = arith.constant 8 : index
  %end = arith.constant 16 : index
  "scf.parallel"(%zero, %end, %half)
      <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%i: index):
    %m = mem.load %n[%i] size [8] : memref<16x{I}, "L3"> -> tensor<8x{I}>
    %v = mem.load %u[%i, 0] size [8, 4] : memref<16x4x{T}, "L3"> -> tensor<8x4x{T}>
    mem.scatter %v to %y[0, 6] axis 0 at %m
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <{kind}>
        : tensor<8x4x{T}>, tensor<8x{I}> to memref<6x9x{T}, "L3">
    scf.reduce
  }}) {{mapping = "grid"}} : (index, index, index) -> ()
  func.return
}}
"""


def combined(
    kind: str, indices: np.ndarray, updates: np.ndarray, start: float, check: Check
) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of a kernel and of numpy; the last column is out of bounds."""
    element, index = (
        f"{each.dtype.kind}{each.itemsize * 8}" for each in (updates, indices)
    )
    expected = np.full((6, 9), start, updates.dtype)
    text = PROGRAM.format(T=element, I=index, kind=kind)
    found = check(text, {"x": expected.copy(), "n": indices, "u": updates})["y"]
    with np.errstate(all="ignore"):
        for place, row in zip(indices, updates, strict=True):
            if 0 <= place < 6:
                expected[place, 6:] = KINDS[kind](expected[place, 6:], row[:3])
    return found, expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("element", ["int32", "int64"])
def test_integers(element: str, index: str, kind: str, check: Check):
    rng, least = np.random.default_rng(2), int(np.iinfo(element).min)
    updates = rng.integers(least, -(least + 1), (16, 4), dtype=element)
    indices = rng.integers(-1, 7, 16, dtype=index)
    start = {"add": 3, "max": least, "min": -(least + 1)}[kind]
    found, expected = combined(kind, indices, updates, start, check)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("start", [0.5, -0.5, -np.inf, np.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_floats(kind: str, start: float, check: Check):
    """Extrema of numbers of both signs, and of NaN of both signs and any payload."""
    rng = np.random.default_rng(5)
    updates = rng.integers(-40, 40, (16, 4)).astype(np.float32) / 8
    updates[rng.random((16, 4)) < 0.2] = np.inf
    updates[rng.random((16, 4)) < 0.2] = -np.inf
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32)
    updates[:4, 1] = bits.view(np.float32)
    indices = np.array([*range(4), *rng.integers(-1, 7, 12)])
    found, expected = combined(kind, indices, updates, start, check)
    np.testing.assert_array_equal(found, expected)
