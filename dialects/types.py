"""IR utility of the dialects: element types, tensor types and their numpy dtypes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.encoding_attribute import without_layout

AnyTensor: TypeAlias = TensorType[Attribute]

Shaped: TypeAlias = MemRefType[Attribute] | TensorType[Attribute]

DTYPES: dict[Attribute, np.dtype[np.generic]] = {
    f64: np.dtype(np.float64),
    f32: np.dtype(np.float32),
    f16: np.dtype(np.float16),
    bf16: np.dtype(ml_dtypes.bfloat16),
    i64: np.dtype(np.int64),
    i32: np.dtype(np.int32),
    i8: np.dtype(np.int8),
    i16: np.dtype(np.int16),
    i1: np.dtype(np.bool_),
}
"""Numpy dtype of every element type."""

_FLOAT_SIZES: Mapping[type[Attribute], int] = {
    type(each): each.size for each in (f64, f32, f16, bf16)
}
"""Bytes of floats by class, as instance checks of several classes take longer."""

ELEMENT_TYPES = (f64, f32, f16, bf16, i64, i32, i8, i1)
"""Element types of the graph dialect."""


def tensor_type(value: SSAValue) -> AnyTensor:
    """Return the type of a tensor value. Raises `VerifyException` for other values."""
    if not isinstance(value.type, TensorType):
        raise VerifyException(f"expected a tensor, got {value.type}")
    return cast(AnyTensor, value.type)


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """Return the type of a value that is a buffer."""
    return cast("MemRefType[Attribute]", value.type)


def dtype_of(element: Attribute) -> np.dtype[np.generic]:
    """Return the numpy dtype of an element type."""
    if (dtype := DTYPES.get(element)) is None:
        raise VerifyException(f"expected a known element type, got {element}")
    return dtype


def element_type_of(dtype: DTypeLike) -> Attribute:
    """
    Return the element type of a numpy dtype; raise `VerifyException` if there is none.
    """
    numpy_dtype = np.dtype(dtype)
    for element, candidate in DTYPES.items():
        if candidate == numpy_dtype:
            return element
    raise VerifyException(f"expected a known element type, got {numpy_dtype}")


def is_float(element: Attribute) -> bool:
    """Return `True` if the element type is a floating-point type."""
    return type(element) in _FLOAT_SIZES or isinstance(element, AnyFloat)


def is_16_bit_float(element: Attribute) -> bool:
    """Return `True` if the element type is a 16-bit floating-point type."""
    return _FLOAT_SIZES.get(type(element)) == 2


def accumulator_type_of(element: Attribute) -> Attribute:
    """Return the type in which values of `element` are added: f32 for 16-bit floats."""
    return f32 if is_16_bit_float(element) else element


def scalar_attribute(
    value: float, element: Attribute
) -> FloatAttr[AnyFloat] | IntegerAttr[IntegerType]:
    """
    Return `value` as a float or integer attribute of type `element`, truncated for an
    integer type.
    """
    match element:
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return FloatAttr(float(value), element)
        case IntegerType():
            return IntegerAttr(int(value), element)
        case _:
            raise VerifyException(f"expected a known element type, got {element}")


def scalar_value(attribute: Attribute) -> int | float:
    """Return the number in a float or integer attribute; of an i1, 0 or 1."""
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, IntegerAttr):
        number = attribute.value.data
        return abs(number) if cast(Attribute, attribute.type) == i1 else number
    raise VerifyException(f"expected a number, got {attribute}")


def element_count_of(value: SSAValue) -> int:
    """Return the number of elements of a tensor."""
    return tensor_type(value).element_count()


def itemsize_of(value: SSAValue) -> int:
    """Return the bytes per element of a tensor."""
    element = tensor_type(value).element_type
    if (size := _FLOAT_SIZES.get(type(element))) is not None:
        return size
    return element.size if isinstance(element, AnyFloat) else dtype_of(element).itemsize


def byte_count(type_: "AnyTensor | MemRefType[Attribute]") -> int:
    """Return the size of all elements in bytes."""
    return type_.element_count() * dtype_of(type_.get_element_type()).itemsize


def tensor_type_like(
    reference_type: AnyTensor, shape: Sequence[int], element: Attribute | None = None
) -> AnyTensor:
    """
    Return a tensor type in the memory level of `reference_type`, by default with its
    element type.
    """
    return TensorType(
        reference_type.element_type if element is None else element,
        shape,
        without_layout(reference_type.encoding),
    )


def format_types(types: Sequence[Attribute]) -> str:
    """Return types as text, in parentheses."""
    return f"({', '.join(map(str, types))})"


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """
    Return the shape that numpy broadcasts `shapes` to; raise `VerifyException` if none.
    """
    try:
        return np.broadcast_shapes(*(tuple(shape) for shape in shapes))
    except ValueError as error:
        listed = " and ".join("x".join(map(str, shape)) for shape in shapes)
        raise VerifyException(
            f"expected shapes that broadcast, got {listed}"
        ) from error


def max_finite_value_of_type(element: Attribute) -> float:
    """Return the greatest finite number of a floating-point type."""
    limits = cast("np.finfo[np.floating[Any]]", ml_dtypes.finfo(dtype_of(element)))
    return float(limits.max)
