"""Conversion between element types."""

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
from tlf.dialects.graph.tensors import (
    GraphTensor,
    element_of,
    result_type,
    shape_of,
)
from tlf.dialects.interfaces import Array
from tlf.dialects.types import (
    ELEMENT_TYPES,
    dtype_of,
    is_float,
    is_half,
    scalar_attribute,
)


def _size(element: Attribute) -> int:
    """The bytes of an element."""
    return dtype_of(element).itemsize


def _between_floats(builder: Builder, value: SSAValue, wanted: AnyFloat) -> SSAValue:
    if is_half(value.type) and is_half(wanted):
        value = builder.insert(arith.ExtFOp(value, f32)).results[0]
    is_wider = _size(wanted) > _size(value.type)
    kind = arith.ExtFOp if is_wider else arith.TruncFOp
    return builder.insert(kind(value, wanted)).results[0]


def _to_float(builder: Builder, value: SSAValue, wanted: AnyFloat) -> SSAValue:
    kind = arith.UIToFPOp if value.type == i1 else arith.SIToFPOp
    if not is_half(wanted):
        return builder.insert(kind(value, wanted)).results[0]
    wide = builder.insert(kind(value, f32)).results[0]
    return _between_floats(builder, wide, wanted)


def _to_integer(builder: Builder, value: SSAValue, wanted: Attribute) -> SSAValue:
    kind = arith.ExtSIOp if _size(wanted) > _size(value.type) else arith.TruncIOp
    if value.type == i1:
        kind = arith.ExtUIOp
    elif is_float(value.type):
        kind = arith.FPToSIOp
    return builder.insert(kind(value, IntegerType(_size(wanted) * 8))).results[0]


def _not_zero(builder: Builder, value: SSAValue) -> SSAValue:
    zero = builder.insert(arith.ConstantOp(scalar_attribute(0, value.type)))
    if is_float(value.type):
        return builder.insert(arith.CmpfOp(value, zero, "une")).results[0]
    return builder.insert(arith.CmpiOp(value, zero, "ne")).results[0]


def convert_scalar(builder: Builder, value: SSAValue, wanted: Attribute) -> SSAValue:
    """Build the conversion of one number, as `graph.cast` converts it."""
    if value.type == wanted:
        return value
    if wanted == i1:
        return _not_zero(builder, value)
    if isinstance(wanted, AnyFloat):
        build = _between_floats if is_float(value.type) else _to_float
        return build(builder, value, wanted)
    return _to_integer(builder, value, wanted)


@irdl_op_definition
class CastOp(ElementwiseOperation, HasFolderInterface):
    """
    Convert each element to another type.

    Floats round to the nearest float, ties to even, and truncate to integers;
    everything but 0 is true; true is 1. Integers become 16-bit floats by way of f32,
    and keep their last bits in a narrower integer type.
    Floats outside the range of an integer type convert to an unspecified value.

    ```mlir
    %y = graph.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
    """

    name = "graph.cast"
    ELEMENTS: ClassVar = ELEMENT_TYPES

    operand = operand_def(GraphTensor())
    result = result_def(GraphTensor())

    def __init__(self, operand: SSAValue | Operation, element: Attribute):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            result_types=[result_type([value], shape_of(value), element)],
        )

    def result_element(self) -> Attribute:
        return element_of(self.result)

    def compute(self, *operands: Array) -> Array:
        (value,) = operands
        if value.dtype.kind in "ib" and is_half(element_of(self.result)):
            return value.astype(np.float32)
        return value

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return convert_scalar(builder, elements[0], element_of(self.result))

    def flops(self) -> int:
        return 0

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return [self.operand] if self.operand.type == self.result.type else None
