"""
Simulator: arithmetic of the matrix and vector engines on numpy arrays.

`f16` and `bf16` are computed in `f32` and rounded once per instruction.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from tlf.runtime.npu.dtypes import (
    DTYPES,
    FLOATS,
    HALVES,
    INTEGERS,
    Array,
    limits_of_integer_type,
)
from tlf.runtime.npu.npu_errors import Fault

_ERF_STEPS = 1024
_ERF_END = 4
_ERF_NODES = np.arange(_ERF_STEPS * _ERF_END + 1) / _ERF_STEPS
_ERF_TABLE = np.array([math.erf(node) for node in _ERF_NODES])


def erf(values: Array) -> Array:
    """
    Return the error function to the precision of `f32`: a third-order expansion around
    the closest node of a table. Beyond the table it rounds to 1.
    """
    size = np.minimum(np.abs(values).astype(np.float64), _ERF_END)
    index = np.nan_to_num(np.rint(size * _ERF_STEPS)).astype(np.int64)
    node = _ERF_NODES[index]
    step = size - node
    slope = (2 / math.sqrt(math.pi)) * np.exp(-node * node)
    change = 1 - node * step + (2 * node * node - 1) / 3 * step * step
    result = _ERF_TABLE[index] + slope * step * change
    return np.copysign(result, values).astype(np.float32)


def _rsqrt(values: Array) -> Array:
    return (1 / np.sqrt(values.astype(np.float64))).astype(np.float32)


def _divide_truncating_integers(a: Array, b: Array) -> Array:
    """
    Return `a / b` per element; integers truncate towards zero, and 0 in `b` is a fault.
    """
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if not np.all(b):
        raise Fault("integer division by zero")
    quotient = np.floor_divide(a, b)
    inexact = quotient * b != a
    return quotient + (inexact & ((a < 0) != (b < 0))).astype(a.dtype)


def _round_half_away_from_zero(values: Array) -> Array:
    """Round to the nearest integer; halves away from zero."""
    truncated = np.trunc(values)
    is_half = np.abs(values - truncated) >= 0.5
    return np.where(is_half, truncated + np.copysign(1, values), truncated)


def _truncated_division_remainder(a: Array, b: Array) -> Array:
    """
    Return the remainder of a division truncated towards zero; it has the sign of `a`.
    """
    if a.dtype.kind != "f" and not np.all(b):
        raise Fault("integer division by zero")
    return np.fmod(a, b)


def _absolute_values(a: Array) -> Array:
    return np.abs(a)


_ANY = FLOATS | INTEGERS | {"i1"}
_NUMBERS = FLOATS | INTEGERS
_LOGICAL = INTEGERS | {"i1"}

UNARY: dict[str, tuple[Callable[[Array], Array], frozenset[str]]] = {
    "neg": (np.negative, _NUMBERS),
    "abs": (_absolute_values, _NUMBERS),
    "exp": (np.exp, FLOATS),
    "exp2": (np.exp2, FLOATS),
    "expm1": (np.expm1, FLOATS),
    "log": (np.log, FLOATS),
    "log10": (np.log10, FLOATS),
    "log1p": (np.log1p, FLOATS),
    "log2": (np.log2, FLOATS),
    "sqrt": (np.sqrt, FLOATS),
    "rsqrt": (_rsqrt, FLOATS),
    "cbrt": (np.cbrt, FLOATS),
    "erf": (erf, FLOATS),
    "sin": (np.sin, FLOATS),
    "cos": (np.cos, FLOATS),
    "tan": (np.tan, FLOATS),
    "asin": (np.arcsin, FLOATS),
    "acos": (np.arccos, FLOATS),
    "atan": (np.arctan, FLOATS),
    "sinh": (np.sinh, FLOATS),
    "cosh": (np.cosh, FLOATS),
    "tanh": (np.tanh, FLOATS),
    "asinh": (np.arcsinh, FLOATS),
    "acosh": (np.arccosh, FLOATS),
    "atanh": (np.arctanh, FLOATS),
    "floor": (np.floor, FLOATS),
    "ceil": (np.ceil, FLOATS),
    "trunc": (np.trunc, FLOATS),
    "rint": (np.rint, FLOATS),
    "round": (_round_half_away_from_zero, FLOATS),
}
"""Operations of one operand, with the types they accept."""

BINARY: dict[str, tuple[Callable[[Array, Array], Array], frozenset[str]]] = {
    "add": (np.add, _NUMBERS),
    "sub": (np.subtract, _NUMBERS),
    "mul": (np.multiply, _ANY),
    "div": (_divide_truncating_integers, _NUMBERS),
    "max": (np.maximum, _ANY),
    "min": (np.minimum, _ANY),
    "maxnum": (np.fmax, FLOATS),
    "minnum": (np.fmin, FLOATS),
    "rem": (_truncated_division_remainder, _NUMBERS),
    "shl": (np.left_shift, INTEGERS),
    "shr": (np.right_shift, INTEGERS),
    "pow": (np.power, FLOATS),
    "atan2": (np.arctan2, FLOATS),
    "copysign": (np.copysign, FLOATS),
    "and": (np.bitwise_and, _LOGICAL),
    "or": (np.bitwise_or, _LOGICAL),
    "xor": (np.bitwise_xor, _LOGICAL),
}
"""Operations of two operands, with the types they accept."""

COMPARE: dict[str, tuple[Callable[[Array, Array], Array], frozenset[str]]] = {
    "cmp.eq": (np.equal, _ANY),
    "cmp.ne": (np.not_equal, _ANY),
    "cmp.lt": (np.less, _ANY),
    "cmp.le": (np.less_equal, _ANY),
    "cmp.gt": (np.greater, _ANY),
    "cmp.ge": (np.greater_equal, _ANY),
}
"""Operations of two operands with an `i1` result, with the types they accept."""

OPERANDS: dict[str, int] = {
    **dict.fromkeys(UNARY, 1),
    **dict.fromkeys(BINARY, 2),
    **dict.fromkeys(COMPARE, 2),
    "copy": 1,
    "fill": 1,
    "select": 3,
}
"""Number of operands of each elementwise operation."""

REDUCE: dict[str, tuple[np.ufunc, frozenset[str]]] = {
    "sum": (np.add, _NUMBERS),
    "prod": (np.multiply, _NUMBERS),
    "max": (np.maximum, _ANY),
    "min": (np.minimum, _ANY),
}
"""Reductions, with the types they accept."""

MATMUL: dict[str, frozenset[str]] = {
    "f32": frozenset({"f32"}),
    "f16": frozenset({"f32", "f16"}),
    "bf16": frozenset({"f32", "bf16"}),
    "i32": frozenset({"i32"}),
    "i8": frozenset({"i32"}),
}
"""Element types of the operands of a product, with the valid result types."""


def types_accepted_by_operation(operation: str) -> frozenset[str]:
    """Return the types that an elementwise operation computes in."""
    for table in (UNARY, BINARY, COMPARE):
        if operation in table:
            return table[operation][1]
    return _ANY


def valid_reduction_result_types(dtype: str) -> frozenset[str]:
    """Return the valid result types of a reduction of `dtype`."""
    if dtype in HALVES:
        return frozenset({dtype, "f32"})
    if dtype == "i8":
        return frozenset({"i8", "i32"})
    return frozenset({dtype})


def cast_elements(values: Array, source_dtype: str, target_dtype: str) -> Array:
    """
    Cast. Floats to integers truncate and saturate, and NaN becomes 0; integers wrap;
    casts to `i1` compare with zero.
    """
    if target_dtype == "i1":
        return np.not_equal(values, np.zeros((), values.dtype))
    if target_dtype in INTEGERS and source_dtype in FLOATS:
        low, high = limits_of_integer_type(target_dtype)
        wide = np.trunc(np.nan_to_num(values.astype(np.float64), nan=0.0))
        # 2^63 is a float64 but not an i64: values at or above it are handled
        # separately.
        truncated = np.where(wide >= high, low, np.maximum(wide, low)).astype(np.int64)
        return np.where(wide >= high, high, truncated).astype(DTYPES[target_dtype])
    if source_dtype in HALVES or target_dtype in HALVES:
        values = values.astype(np.float32)
    return values.astype(DTYPES[target_dtype])


def compute_elementwise(
    operation: str, sources: Sequence[Array], dtype: str, out: Array, target_dtype: str
) -> None:
    """
    Write `operation` of `sources`, all of type `dtype` (except for the `i1` condition
    of a select), to `out` of type `target_dtype`. Arrays broadcast to the shape of
    `out`.
    """
    if operation in ("copy", "fill"):
        (values,) = sources
        out[...] = (
            values
            if dtype == target_dtype
            else cast_elements(values, dtype, target_dtype)
        )
        return
    if operation == "select":
        a, b, condition = sources
        out[...] = np.where(condition, a, b)
        return
    if dtype in HALVES:
        sources = [source.astype(np.float32) for source in sources]
    if operation in UNARY:
        out[...] = UNARY[operation][0](sources[0])
    elif operation in BINARY:
        out[...] = BINARY[operation][0](sources[0], sources[1])
    else:
        out[...] = COMPARE[operation][0](sources[0], sources[1])


def compute_reduction(
    operation: str,
    values: Array,
    axes: tuple[int, ...],
    out: Array,
    target_dtype: str,
    accumulate: bool,
) -> None:
    """
    Reduce `axes` of `values` to `out` of type `target_dtype`, which has extent 1 on
    `axes`.
    """
    function = REDUCE[operation][0]
    wide = DTYPES["f32" if target_dtype in HALVES else target_dtype]
    values = values.astype(wide, copy=False)
    start = neutral_element_of_reduction(operation, target_dtype)
    result = function.reduce(
        values, axis=axes, keepdims=True, initial=start, dtype=wide
    )
    if accumulate:
        result = function(out.astype(wide, copy=False), result)
    out[...] = result


def neutral_element_of_reduction(operation: str, dtype: str) -> float:
    """
    Return the neutral element of a reduction, such as 0 for `sum`, as a value of
    `dtype`.
    """
    if operation == "sum":
        return 0
    if operation == "prod":
        return 1
    if dtype in FLOATS:
        return -np.inf if operation == "max" else np.inf
    low, high = (0, 1) if dtype == "i1" else limits_of_integer_type(dtype)
    return low if operation == "max" else high


def compute_matmul(
    a: Array,
    b: Array,
    c: Array,
    extents: tuple[int, int, int, int],
    accumulate: bool,
    precision: str,
) -> None:
    """
    Write `a @ b` to array `c` in place, or add it to `c` if `accumulate`.

    `extents` are the products of the sizes in batch, m, n and k. The shapes are (batch,
    m, k), (batch, k, n) and (batch, m, n), each with any number of dimensions.
    """
    batch, m, n, k = extents
    wide = np.int32 if a.dtype.kind == "i" else np.float32
    a = np.ascontiguousarray(a.reshape(batch, m, k), wide)
    b = np.ascontiguousarray(b.reshape(batch, k, n), wide)
    if precision == "tf32":
        a, b = round_tf32(a), round_tf32(b)
    product = np.matmul(a, b).reshape(c.shape)
    if accumulate:
        product = product + c.astype(wide, copy=False)
    c[...] = product


def round_tf32(values: Array) -> Array:
    """Round `f32` to the 10 bits of mantissa of tf32, to nearest even."""
    bits = values.view(np.uint32)
    rounded = bits + 0xFFF + ((bits >> 13) & 1) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(values), rounded.view(np.float32), values)
