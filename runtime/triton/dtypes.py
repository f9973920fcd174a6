"""Launch of Triton kernels: names of element types in plans, and their numpy dtypes."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

_DTYPES: dict[str, np.dtype[np.generic]] = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}

_TRITON_NAMES = {"i1": "u1", "f16": "fp16", "f32": "fp32", "f64": "fp64"}
"""Names of Triton that are not those of plans."""


DESCRIPTOR = "tensordesc"
"""Start of Triton's types of tensor descriptors."""


def is_plan_dtype(name: str) -> bool:
    """Return `True` if a plan may use `name` as an element type."""
    return name in _DTYPES


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """Return the numpy dtype of `name`; `bf16` is that of ml_dtypes."""
    return _DTYPES[name]


def plan_name_of_dtype(dtype: np.dtype[np.generic]) -> str:
    """
    Return the name of a numpy dtype in a plan, or numpy's own name if plans have none.
    """
    return next((name for name, known in _DTYPES.items() if known == dtype), str(dtype))


def triton_descriptor_type(name: str, box: Sequence[int]) -> str:
    """Return Triton's type of a descriptor of boxes of elements of a type of plans."""
    return f"{DESCRIPTOR}<{_TRITON_NAMES.get(name, name)}{list(box)}>"


def triton_pointer_type(name: str) -> str:
    """Return Triton's type of a pointer to elements of a type of plans."""
    return f"*{_TRITON_NAMES.get(name, name)}"
