"""Operation `graph.softmax`: softmax along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from tlf.dialects.graph.elementwise import MulOp
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    GraphTensorConstraint,
    element_type_of_value,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.graph.untiled_axes_operation import UntiledAxesOperation
from tlf.dialects.interfaces import Array
from tlf.support.affine.index_access import Accesses


@irdl_op_definition
class SoftmaxOp(UntiledAxesOperation):
    """
    Softmax along an axis, `exp(x - max(x)) / sum(exp(x - max(x)))`. Computed in f32 if
    x is narrower.

    ```mlir
    %y = graph.softmax %x axis 1 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ```
    """

    name = "graph.softmax"

    operand = operand_def(GraphTensorConstraint(FLOATS))
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensorConstraint(FLOATS))

    assembly_format = (
        "$operand `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, operand: SSAValue | Operation, axis: int):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[value.type],
        )

    @property
    def untiled_axes(self) -> tuple[int, ...]:
        return (self.axis.value.data,)

    def verify_(self) -> None:
        verify_axes(self.untiled_axes, len(shape_of(self.operand)))
        verify_shape(self.result, shape_of(self.operand))
        verify_element_type(self.result, element_type_of_value(self.operand))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return self.result_indexing_maps()

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        wide = promote_to_f32(operands[0])
        with np.errstate(all="ignore"):
            greatest = np.max(wide, axis=self.untiled_axes, keepdims=True)
            powers = np.exp(np.subtract(wide, greatest))
            total = np.sum(powers, axis=self.untiled_axes, keepdims=True)
            value = np.divide(powers, total)
        return (round_to_type(value, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        wide = program.promote_to_builder_type(self.operand)
        axes = self.untiled_axes
        greatest = program.reduce(wide, ReduceKind.MAX, axes, keepdims=True)
        powers = program.exp(program.sub(wide, greatest))
        total = program.reduce(powers, ReduceKind.SUM, axes, keepdims=True)
        # One quotient per row: the sum contains a 1, so its reciprocal is finite, and
        # the product with the reciprocal rounds once more than a quotient.
        scale = program.div(program.constant(1.0), total)
        return [
            program.build_with_result_type(MulOp, [powers, scale], self.result.type)
        ]

    def flops(self) -> int:
        shape = shape_of(self.operand)
        elements = prod(shape)
        rows = elements // shape[self.axis.value.data]
        return 5 * elements + rows
