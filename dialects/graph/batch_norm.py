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
from tlf.dialects.graph.normalization import (
    NormalizationOperation,
    apply_weight_and_bias,
    build_steps,
)
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    GraphTensor,
    element_of,
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
    PARAMETERS: ClassVar = ("mean", "variance", "weight", "bias")

    operand = operand_def(GraphTensor(FLOATS))
    mean = operand_def(GraphTensor(FLOATS))
    variance = operand_def(GraphTensor(FLOATS))
    weight = opt_operand_def(GraphTensor(FLOATS))
    bias = opt_operand_def(GraphTensor(FLOATS))

    result = result_def(GraphTensor(FLOATS))

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
    def whole_axes(self) -> tuple[int, ...]:
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
        named = self.bind_operands(operands)
        with np.errstate(all="ignore"):
            centred = np.subtract(named["x"], named["mean"])
            epsilon = named["x"].dtype.type(self.epsilon.value.data)
            deviation = np.sqrt(np.add(named["variance"], epsilon))
            value = apply_weight_and_bias(np.divide(centred, deviation), named)
        return (round_to_type(value, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        wide = {name: program.promote(value) for name, value in self.parameters.items()}
        epsilon = program.constant(self.epsilon.value.data)
        scale = program.rsqrt(program.add(wide["variance"], epsilon))
        if "weight" in wide:
            scale = program.mul(scale, wide["weight"])
        mean = self._broadcast_parameter(program, wide["mean"])
        centred = program.sub(program.promote(self.operand), mean)
        steps: list[tuple[type[AddOp | MulOp], SSAValue]]
        steps = [(MulOp, self._broadcast_parameter(program, scale))]
        if "bias" in wide:
            steps.append((AddOp, self._broadcast_parameter(program, wide["bias"])))
        return [build_steps(program, centred, steps, self.result.type)]

    def _broadcast_parameter(self, program: TensorBuilder, value: SSAValue) -> SSAValue:
        """Reshape a parameter so that it broadcasts to the operand."""
        tail = len(shape_of(self.operand)) - 2
        if not tail:
            return value
        return program.reshape(value, (*shape_of(value), *(1,) * tail))

    def flops(self) -> int:
        elements, channels = prod(shape_of(self.operand)), shape_of(self.operand)[1]
        biased = self.bias is not None
        weighted = self.weight is not None
        return (2 + biased) * elements + (2 + weighted) * channels
