"""Simulator: element types of the NPU, by their names in programs."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any element type and shape."""

DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}
"""Element types by name. `i1` takes one byte, 0 or 1."""

ITEMSIZE: dict[str, int] = {name: dtype.itemsize for name, dtype in DTYPES.items()}
"""Bytes per element."""

BITS: dict[int, np.dtype[Any]] = {
    size: np.dtype(f"u{size}") for size in sorted(set(ITEMSIZE.values()))
}
"""Unsigned integers by size in bytes, used by moves to preserve all bits."""

FLOATS = frozenset({"f32", "f16", "bf16"})
HALVES = frozenset({"f16", "bf16"})
INTEGERS = frozenset({"i64", "i32", "i8"})


def make_scalar_array(value: float, dtype: str) -> Array:
    """
    Return `value` as an array of rank 0. Raises `ValueError` if it is not representable
    in an integer type.
    """
    if dtype in FLOATS:
        return np.array(value, np.float64).astype(DTYPES[dtype])
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        raise ValueError(f"{value} is not a value of {dtype}")
    low, high = (0, 1) if dtype == "i1" else limits_of_integer_type(dtype)
    if not low <= value <= high:
        raise ValueError(f"{value} is not a value of {dtype}")
    return np.array(int(value), DTYPES[dtype])


def limits_of_integer_type(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    bits = 8 * ITEMSIZE[dtype] - 1
    return -(1 << bits), (1 << bits) - 1
