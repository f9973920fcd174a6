"""Operation `graph.cast`: conversion between element types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, i1
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from tlf.dialects.graph.elementwise import ElementwiseOperation
from tlf.dialects.graph.tensor_types import (
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    shape_of,
)
from tlf.dialects.interfaces import Array
from tlf.dialects.types import (
    ELEMENT_TYPES,
    dtype_of,
    is_16_bit_float,
    is_float,
    scalar_attribute,
)


def _byte_size(element: Attribute) -> int:
    """Return the size of an element in bytes."""
    return dtype_of(element).itemsize


def _build_float_resize(
    builder: Builder, value: SSAValue, target_type: AnyFloat
) -> SSAValue:
    """Build `arith.extf` or `arith.truncf`, by way of f32 between two 16-bit floats."""
    if is_16_bit_float(value.type) and is_16_bit_float(target_type):
        value = builder.insert(arith.ExtFOp(value, f32)).results[0]
    is_wider = _byte_size(target_type) > _byte_size(value.type)
    kind = arith.ExtFOp if is_wider else arith.TruncFOp
    return builder.insert(kind(value, target_type)).results[0]


def _build_cast_to_float(
    builder: Builder, value: SSAValue, target_type: AnyFloat
) -> SSAValue:
    """
    Build the cast of an integer or `i1` to a float, by way of f32 to 16-bit floats.
    """
    kind = arith.UIToFPOp if value.type == i1 else arith.SIToFPOp
    if not is_16_bit_float(target_type):
        return builder.insert(kind(value, target_type)).results[0]
    wide = builder.insert(kind(value, f32)).results[0]
    return _build_float_resize(builder, wide, target_type)


def _build_cast_to_integer(
    builder: Builder, value: SSAValue, target_type: Attribute
) -> SSAValue:
    """Build the cast of a float, an `i1` or a signed integer to an integer."""
    kind = (
        arith.ExtSIOp
        if _byte_size(target_type) > _byte_size(value.type)
        else arith.TruncIOp
    )
    if value.type == i1:
        kind = arith.ExtUIOp
    elif is_float(value.type):
        kind = arith.FPToSIOp
    return builder.insert(
        kind(value, IntegerType(_byte_size(target_type) * 8))
    ).results[0]


def _build_nonzero_test(builder: Builder, value: SSAValue) -> SSAValue:
    """Build the comparison of a scalar with 0, as an `i1`; NaN counts as nonzero."""
    zero = builder.insert(arith.ConstantOp(scalar_attribute(0, value.type)))
    if is_float(value.type):
        return builder.insert(arith.CmpfOp(value, zero, "une")).results[0]
    return builder.insert(arith.CmpiOp(value, zero, "ne")).results[0]


def build_scalar_cast(
    builder: Builder, value: SSAValue, target_type: Attribute
) -> SSAValue:
    """Build the conversion of a scalar with the semantics of `graph.cast`."""
    if value.type == target_type:
        return value
    if target_type == i1:
        return _build_nonzero_test(builder, value)
    if isinstance(target_type, AnyFloat):
        build = _build_float_resize if is_float(value.type) else _build_cast_to_float
        return build(builder, value, target_type)
    return _build_cast_to_integer(builder, value, target_type)


@irdl_op_definition
class CastOp(ElementwiseOperation, HasFolderInterface):
    """
    Elementwise conversion to another element type.

    Floats round to the nearest float, ties to even, and truncate to integers. Nonzero
    values convert to true, and true converts to 1. Integers convert to 16-bit floats by
    way of f32, and keep their low bits in a narrower integer type. Floats outside the
    range of an integer type convert to an unspecified value.

    ```mlir
    %y = graph.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
    """

    name = "graph.cast"
    ACCEPTED_ELEMENT_TYPES: ClassVar = ELEMENT_TYPES

    operand = operand_def(GraphTensorConstraint())
    result = result_def(GraphTensorConstraint())

    def __init__(self, operand: SSAValue | Operation, element: Attribute):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            result_types=[infer_result_type([value], shape_of(value), element)],
        )

    def result_element_type(self) -> Attribute:
        return element_type_of_value(self.result)

    def compute_in_numpy(self, *operands: Array) -> Array:
        (value,) = operands
        if value.dtype.kind in "ib" and is_16_bit_float(
            element_type_of_value(self.result)
        ):
            return value.astype(np.float32)
        return value

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        return build_scalar_cast(
            builder, elements[0], element_type_of_value(self.result)
        )

    def flops(self) -> int:
        return 0

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return [self.operand] if self.operand.type == self.result.type else None
