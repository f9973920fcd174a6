"""Indices that sort the rows of a value, in all element types."""

from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np
import pytest

from tlf.dialects.argsort_operation import stable_order_of

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

DTYPES: Mapping[str, np.dtype] = {
    "f32": np.dtype("float32"),
    "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i32": np.dtype("int32"),
    "i8": np.dtype("int8"),
}

PROGRAM = """
func.func @main(%x: memref<4x13x{T}, "L3">, %y: memref<4x{first}xi32, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %v = mem.load %x[0, 0] size [4, 16] : memref<4x13x{T}, "L3"> -> tensor<4x16x{T}>
  %i = mem.argsort %v count 13 {direction} : tensor<4x16x{T}> -> tensor<4x{first}xi32>
  mem.store %i to %y[0, 0] : tensor<4x{first}xi32> to memref<4x{first}xi32, "L3">
  func.return
}}
"""


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("first", [16, 8, 2])
@pytest.mark.parametrize("direction", ["", "descending"])
@pytest.mark.parametrize("element", DTYPES)
def test_rows(element: str, direction: str, first: int, check: Check):
    """Equal elements are in order, and lanes beyond the row are last."""
    rng, dtype = np.random.default_rng(7), DTYPES[element]
    special = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 2.5, -2.5]
    if dtype.kind == "i":
        limits = np.iinfo(dtype.name)
        special = [limits.min, limits.max, 0, 1, -1]
    x = rng.choice(np.array(special).astype(dtype), (4, 13))
    text = PROGRAM.format(T=element, direction=direction, first=first)
    (found,) = check(text, {"x": x}).values()
    expected = stable_order_of(x.astype(np.float64), 1, bool(direction))
    expected = np.concatenate([expected, [[13, 14, 15]] * 4], axis=1)
    np.testing.assert_array_equal(found, expected[:, :first])
