"""
Emission of Triton code for element types: plan names, Triton names and Python literals.
"""

import math
import struct
from typing import cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException

_TRITON_NAMES = {
    "bf16": "tl.bfloat16",
    "f16": "tl.float16",
    "f32": "tl.float32",
    "f64": "tl.float64",
    "i1": "tl.int1",
    "i8": "tl.int8",
    "i16": "tl.int16",
    "i32": "tl.int32",
    "i64": "tl.int64",
}

_FLOATS = BFloat16Type | Float16Type | Float32Type | Float64Type


def is_supported_by_triton(element_type: Attribute) -> bool:
    """Return `True` if Triton supports tiles with elements of this type."""
    return str(element_type) in _TRITON_NAMES


def is_float(element_type: Attribute) -> bool:
    return isinstance(element_type, _FLOATS)


def bit_width(element_type: Attribute) -> int:
    """Return the number of bits of a supported element type."""
    return int(str(element_type).lstrip("bif"))


def plan_type_name(element_type: Attribute) -> str:
    """
    Return the name of an element type in a plan. Raises `DiagnosticException` for a
    type that Triton does not support.
    """
    if not is_supported_by_triton(element_type):
        raise DiagnosticException(f"triton has no element type {element_type}")
    return str(element_type)


def triton_type_name(element_type: Attribute) -> str:
    """Return the expression of an element type in a kernel, such as `tl.float32`."""
    return _TRITON_NAMES[plan_type_name(element_type)]


def promoted_arithmetic_type(element_type: Attribute) -> str | None:
    """Return the type that arithmetic on a 16-bit float is promoted to, or `None`."""
    return "tl.float32" if str(element_type) in ("bf16", "f16") else None


def python_literal_of(value: float, element_type: Attribute) -> str:
    """
    Return a Python literal of `value`, exactly as rounded to the type. For -0 it is a
    product, because Triton parses the literal `-0.0` as 0.
    """
    if not is_float(element_type):
        return str(bool(value) if bit_width(element_type) == 1 else int(value))
    exact = round_to_type(value, element_type)
    if exact == 0 and math.copysign(1.0, exact) < 0:
        computed = promoted_arithmetic_type(element_type) or triton_type_name(
            element_type
        )
        return f"(-1.0 * tl.full([], 0.0, {computed}))"
    if not math.isfinite(exact):
        return f'float("{exact}")'
    return repr(exact)


def round_to_type(value: float, element_type: Attribute) -> float:
    """Return a number rounded to a float type; integers are unchanged."""
    if not is_float(element_type):
        return value
    value = float(value)
    if isinstance(element_type, BFloat16Type):
        return float(np.float32(value).astype(ml_dtypes.bfloat16))
    if isinstance(element_type, Float16Type):
        return float(np.float16(value))
    if isinstance(element_type, Float32Type):
        return _shortest_double_of_f32(value)
    return value


def _shortest_double_of_f32(value: float) -> float:
    """Return the shortest double that rounds to the same f32 as `value`."""
    single = np.float32(value)
    if not np.isfinite(single):
        return float(single)
    short = float(str(single))
    is_equal = struct.pack("f", short) == struct.pack("f", single)
    is_in_range = abs(short) <= float(np.finfo(np.float32).max)
    return short if is_equal and is_in_range else float(single)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a tensor or memref value."""
    shaped = cast(TensorType[Attribute] | MemRefType[Attribute], value.type)
    return shaped.get_shape()


def element_type_of(value: SSAValue) -> Attribute:
    """Return the element type of a tensor or memref value."""
    shaped = cast(TensorType[Attribute] | MemRefType[Attribute], value.type)
    return shaped.element_type
