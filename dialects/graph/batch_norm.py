"""Operation `graph.batch_norm`: batch normalization with given mean and variance."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.elementwise import AddOp, MulOp
from tlf.dialects.graph.normalization_operation import (
    NormalizationOperation,
    apply_weight_and_bias,
    build_binary_operation_chain,
)
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    GraphTensorConstraint,
    element_type_of_value,
    format_shape,
    round_to_type,
    shape_of,
)
from tlf.dialects.interfaces import Array


@irdl_op_definition
class BatchNormOp(NormalizationOperation):
    """
    Batch normalization, `(x - mean) / sqrt(variance + epsilon) * weight + bias`, with
    one mean, variance, weight and bias per channel, the index of axis 1. Weight and
    bias may be absent. Computed in f32 if x is narrower.

    ```mlir
    %y = graph.batch_norm %x mean %m variance %v weight %w bias %b epsilon 1.0e-05
        : (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
           tensor<8xf32>) -> tensor<2x8x4x4xf32>
    ```
    """

    name = "graph.batch_norm"
    PARAMETER_NAMES: ClassVar = ("mean", "variance", "weight", "bias")

    operand = operand_def(GraphTensorConstraint(FLOATS))
    mean = operand_def(GraphTensorConstraint(FLOATS))
    variance = operand_def(GraphTensorConstraint(FLOATS))
    weight = opt_operand_def(GraphTensorConstraint(FLOATS))
    bias = opt_operand_def(GraphTensorConstraint(FLOATS))

    result = result_def(GraphTensorConstraint(FLOATS))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        operand: SSAValue | Operation,
        mean: SSAValue | Operation,
        variance: SSAValue | Operation,
        weight: SSAValue | Operation | None = None,
        bias: SSAValue | Operation | None = None,
        epsilon: float = 1e-5,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value, mean, variance, weight, bias],
            properties={"epsilon": FloatAttr(epsilon, f64)},
            result_types=[value.type],
        )

    @property
    def untiled_axes(self) -> tuple[int, ...]:
        return ()

    @property
    def parameter_axes(self) -> tuple[int, ...]:
        return (1,)

    def verify_(self) -> None:
        if len(shape_of(self.operand)) < 2:
            raise VerifyException(
                "expected an operand of rank 2 or more, "
                f"got {format_shape(shape_of(self.operand))}"
            )
        super().verify_()

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        named = self.broadcastable_arrays_by_name(operands)
        with np.errstate(all="ignore"):
            centred = np.subtract(named["x"], named["mean"])
            epsilon = named["x"].dtype.type(self.epsilon.value.data)
            deviation = np.sqrt(np.add(named["variance"], epsilon))
            value = apply_weight_and_bias(np.divide(centred, deviation), named)
        return (round_to_type(value, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        wide = {
            name: program.promote_to_builder_type(value)
            for name, value in self.parameters.items()
        }
        epsilon = program.constant(self.epsilon.value.data)
        scale = program.rsqrt(program.add(wide["variance"], epsilon))
        if "weight" in wide:
            scale = program.mul(scale, wide["weight"])
        mean = self._reshape_parameter_for_broadcast(program, wide["mean"])
        centred = program.sub(program.promote_to_builder_type(self.operand), mean)
        steps: list[tuple[type[AddOp | MulOp], SSAValue]]
        steps = [(MulOp, self._reshape_parameter_for_broadcast(program, scale))]
        if "bias" in wide:
            steps.append(
                (AddOp, self._reshape_parameter_for_broadcast(program, wide["bias"]))
            )
        return [build_binary_operation_chain(program, centred, steps, self.result.type)]

    def _reshape_parameter_for_broadcast(
        self, tensor_builder: TensorBuilder, value: SSAValue
    ) -> SSAValue:
        """
        Build a reshape that appends unit axes to a parameter per channel, so that it
        broadcasts to the operand; return `value` itself for rank 2.
        """
        tail = len(shape_of(self.operand)) - 2
        if not tail:
            return value
        return tensor_builder.reshape(value, (*shape_of(value), *(1,) * tail))

    def flops(self) -> int:
        elements, channels = prod(shape_of(self.operand)), shape_of(self.operand)[1]
        biased = self.bias is not None
        weighted = self.weight is not None
        return (2 + biased) * elements + (2 + weighted) * channels
