"""Operation `graph.mean`: mean reduction along axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.division import DivOp
from tlf.dialects.graph.reduction import ReduceKind, reduced_shape
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    promote_to_f32,
    round_to_type,
    shape_of,
    to_integers_attribute,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.graph.untiled_axes_operation import UntiledAxesOperation
from tlf.dialects.interfaces import Array
from tlf.support.affine.index_access import Accesses, IndexAccess


@irdl_op_definition
class MeanOp(UntiledAxesOperation, SimplifiableOperation):
    """
    Mean along axes, accumulated in f32 if elements are narrower.

    ```mlir
    %y = graph.mean %x axes [1] keepdims : (tensor<4x8xbf16>) -> tensor<4x1xbf16>
    ```
    """

    name = "graph.mean"

    operand = operand_def(GraphTensorConstraint(FLOATS))
    axes = prop_def(DenseArrayBase.constr(i64))
    keepdims = opt_prop_def(UnitAttr)
    result = result_def(GraphTensorConstraint(FLOATS))

    assembly_format = (
        "$operand `axes` $axes (`keepdims` $keepdims^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        axes: Sequence[int],
        keepdims: bool = False,
    ):
        value = SSAValue.get(operand)
        shape = reduced_shape(shape_of(value), axes, keepdims)
        super().__init__(
            operands=[value],
            properties={
                "axes": to_integers_attribute(axes),
                "keepdims": UnitAttr() if keepdims else None,
            },
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    @property
    def untiled_axes(self) -> tuple[int, ...]:
        return tuple(self.axes.get_values())

    @property
    def elements_per_mean(self) -> int:
        """Number of elements per mean."""
        return prod(shape_of(self.operand)[axis] for axis in self.untiled_axes)

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        verify_axes(self.untiled_axes, len(shape))
        keepdims = self.keepdims is not None
        verify_shape(self.result, reduced_shape(shape, self.untiled_axes, keepdims))
        verify_element_type(self.result, element_type_of_value(self.operand))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return (self.accesses_to_axes(range(len(shape_of(self.operand)))),)

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        rank = len(shape_of(self.operand))
        along = self.accesses_to_axes(range(rank))
        keepdims = self.keepdims is not None
        return (
            tuple(
                IndexAccess() if axis in self.untiled_axes else along[axis]
                for axis in range(rank)
                if keepdims or axis not in self.untiled_axes
            ),
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        keepdims = self.keepdims is not None
        with np.errstate(all="ignore"):
            total = np.sum(
                promote_to_f32(operands[0]), axis=self.untiled_axes, keepdims=keepdims
            )
            value = np.divide(total, total.dtype.type(self.elements_per_mean))
        return (round_to_type(value, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        wide = program.promote_to_builder_type(self.operand)
        keepdims = self.keepdims is not None
        total = program.reduce(wide, ReduceKind.SUM, self.untiled_axes, keepdims)
        count = program.constant(self.elements_per_mean)
        return [program.build_with_result_type(DivOp, [total, count], self.result.type)]

    def flops(self) -> int:
        return prod(shape_of(self.operand)) + prod(shape_of(self.result))

    def linear_operands(self) -> tuple[int, ...]:
        return (0,)
