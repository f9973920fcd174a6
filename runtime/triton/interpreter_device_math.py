"""
Launch of Triton kernels in the interpreter: CUDA libdevice functions called by kernels,
on numpy arrays.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np


def erf(x: np.ndarray) -> np.ndarray:
    """Return the error function, elementwise, in the dtype of `x`."""
    values = [math.erf(value) for value in x.ravel().tolist()]
    return np.array(values, dtype=x.dtype).reshape(x.shape)


def erfc(x: np.ndarray) -> np.ndarray:
    """Return the complementary error function, elementwise, in the dtype of `x`."""
    values = [math.erfc(value) for value in x.ravel().tolist()]
    return np.array(values, dtype=x.dtype).reshape(x.shape)


def _round_half_away(x: np.ndarray) -> np.ndarray:
    truncated = np.trunc(x)
    return truncated + np.where(np.abs(x - truncated) >= 0.5, np.copysign(1.0, x), 0.0)


def multiply_add(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return `x * y + z` of floats of at most 32 bits, rounded once, in f64."""
    # The product of two f32 is exact in f64.
    return x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)


FUNCTIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "copysign": np.copysign,
    "cosh": np.cosh,
    "erfc": erfc,
    "expm1": np.expm1,
    "fmod": np.fmod,
    "log10": np.log10,
    "log1p": np.log1p,
    "pow": np.power,
    "rint": np.rint,
    "round": _round_half_away,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}

INSTRUCTIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "rcp.approx.ftz.f32": np.reciprocal,
    "tanh.approx.f32": np.tanh,
    "cvt.rn.f16x2.f32": np.positive,
    "cvt.rn.bf16x2.f32": np.positive,
    "fma.rn.f16x2": multiply_add,
    "fma.rn.bf16x2": multiply_add,
    "mov.b32": np.positive,
    "max.NaN.f32": np.maximum,
    "max.f32": np.fmax,
    "min.NaN.f32": np.minimum,
    "min.f32": np.fmin,
}
"""
Functions of inline assembly, by the first of these mnemonics found in it. Results are
rounded to the result type.
"""
