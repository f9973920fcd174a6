"""
Type constraint of the tensors of the `graph` dialect, and inference of result types of
its operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerType,
    NoneAttr,
    TensorType,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.encoding_attribute import layout_of, without_layout
from tlf.dialects.interfaces import Array
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.types import (
    ELEMENT_TYPES,
    AnyTensor,
    dtype_of,
    is_16_bit_float,
    is_float,
    tensor_type,
)

FLOATS = tuple(element for element in ELEMENT_TYPES if is_float(element))
"""Floating-point element types of the graph dialect."""

INTEGERS = tuple(
    element for element in ELEMENT_TYPES if not is_float(element) and element != i1
)
"""Integer element types of the graph dialect, without i1."""

NUMBERS = (*FLOATS, *INTEGERS)
"""Element types of arithmetic."""


@dataclass(frozen=True)
class GraphTensorConstraint(AttrConstraint[AnyTensor]):
    """
    Constraint: a tensor of static shape, with extents of at least 1 and an accepted
    element type.
    """

    element_types: tuple[Attribute, ...] = ELEMENT_TYPES

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, TensorType):
            raise VerifyException(f"expected a tensor, got {attr}")
        type_ = cast(AnyTensor, attr)
        if any(extent < 0 for extent in type_.get_shape()):
            raise VerifyException(f"expected a static shape, got {attr}")
        if 0 in type_.get_shape():
            raise VerifyException(f"expected extents of at least 1, got {attr}")
        axes = layout_of(type_)
        if axes and len(axes) != type_.get_num_dims():
            raise VerifyException(
                f"expected a layout of {type_.get_num_dims()} axes, got {list(axes)}"
            )
        if type_.element_type not in self.element_types:
            listed = ", ".join(map(str, self.element_types))
            raise VerifyException(
                f"expected an element type among {listed}, got {type_.element_type}"
            )

    def get_bases(self) -> set[type[Attribute]] | None:
        return {TensorType}

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> GraphTensorConstraint:
        return self


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a value that is a tensor."""
    return tensor_type(value).get_shape()


def integer_limits(element_type: Attribute) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type or i1."""
    if element_type == i1:
        return 0, 1
    limits = np.iinfo(dtype_of(element_type).name)
    return int(limits.min), int(limits.max)


def element_type_of_value(value: SSAValue) -> Attribute:
    """Return the element type of a value that is a tensor."""
    return tensor_type(value).element_type


def format_shape(shape: Iterable[int]) -> str:
    """Format a shape, such as `4x8`."""
    return "x".join(map(str, shape)) or "()"


def infer_result_type(
    operands: Sequence[SSAValue], shape: Sequence[int], element: Attribute
) -> AnyTensor:
    """Infer a tensor type in the memory level of the first operand that has one."""
    encodings = (without_layout(tensor_type(each).encoding) for each in operands)
    encoding = next((each for each in encodings if each != NoneAttr()), NoneAttr())
    return TensorType(element, shape, encoding)


def default_accumulator_type(element_type: Attribute) -> Attribute:
    """Return the default accumulator type of an element type."""
    if is_16_bit_float(element_type):
        return f32
    return i32 if element_type == i8 else element_type


def verify_shape(result: SSAValue, expected: Sequence[int]) -> None:
    """Raise `VerifyException` unless `result` has the shape `expected`."""
    if (found := shape_of(result)) != tuple(expected):
        raise VerifyException(
            f"expected a result of shape {format_shape(expected)}, "
            f"got {format_shape(found)}"
        )


def verify_element_type(
    value: SSAValue, expected: Attribute, value_name: str = "result"
) -> None:
    """Check the element type of a value."""
    if (found := element_type_of_value(value)) != expected:
        raise VerifyException(f"expected a {value_name} of {expected}, got {found}")


def verify_same_element_types(operands: Sequence[SSAValue]) -> None:
    """Raise `VerifyException` unless all operands have the same element type."""
    elements = [element_type_of_value(operand) for operand in operands]
    if any(element != elements[0] for element in elements):
        listed = " and ".join(map(str, elements))
        raise VerifyException(f"expected operands of one element type, got {listed}")


def to_integers_attribute(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """Convert integers to an array property."""
    return share_integer_array(values)


def parse_integers(parser: Parser) -> DenseArrayBase[IntegerType]:
    """
    Parse integers in square brackets, and return them as a dense i64 array attribute.
    """
    square = parser.Delimiter.SQUARE
    return to_integers_attribute(
        parser.parse_comma_separated_list(square, parser.parse_integer)
    )


def print_integers(printer: Printer, values: DenseArrayBase[IntegerType]) -> None:
    """Print a list of integers in the syntax of `parse_integers`."""
    printer.print_string(str([*values.get_values()]))


def verify_axes(axes: Sequence[int], rank: int) -> None:
    """
    Raise `VerifyException` unless axes are distinct, not negative and less than `rank`.
    """
    for axis in axes:
        if not 0 <= axis < rank:
            raise VerifyException(
                f"expected axes between 0 and {rank - 1}, got {axis}"
                if rank
                else f"expected no axes for a scalar, got {axis}"
            )
    if len(set(axes)) != len(axes):
        raise VerifyException(f"expected each axis once, got {list(axes)}")


def promote_to_f32(array: Array) -> Array:
    """Promote an array of 16-bit floats to f32."""
    half = array.dtype.kind in "fV" and array.dtype.itemsize == 2
    return array.astype(np.float32) if half else array


def round_to_type(array: Array, element: Attribute) -> Array:
    """Round an array to an element type; overflow becomes infinity."""
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype_of(element))
