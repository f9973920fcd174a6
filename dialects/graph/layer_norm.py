"""
Operations `graph.layer_norm` and `graph.rms_norm`: normalization over trailing axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.elementwise import AddOp, MulOp
from tlf.dialects.graph.normalization_operation import (
    NormalizationOperation,
    apply_weight_and_bias,
    build_binary_operation_chain,
)
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    GraphTensorConstraint,
    element_type_of_value,
    round_to_type,
    shape_of,
)
from tlf.dialects.interfaces import Array


class TrailingAxesNormalization(NormalizationOperation):
    """Base of normalizations over the `last` trailing axes, by default one."""

    last = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        if parser.parse_optional_keyword("last") is None:
            return {}
        return {"last": IntegerAttr(parser.parse_integer(), i64)}

    def print_options(self, printer: Printer) -> None:
        if self.last.value.data != 1:
            printer.print_string(f" last {self.last.value.data}")

    @property
    def untiled_axes(self) -> tuple[int, ...]:
        rank = len(shape_of(self.operands[0]))
        return tuple(range(rank - self.last.value.data, rank))

    @property
    def parameter_axes(self) -> tuple[int, ...]:
        return self.untiled_axes

    @property
    def normalized_element_count(self) -> int:
        """Number of elements that are normalized together."""
        return prod(shape_of(self.operands[0])[axis] for axis in self.untiled_axes)

    def verify_(self) -> None:
        last, rank = self.last.value.data, len(shape_of(self.operands[0]))
        if not 1 <= last <= rank:
            raise VerifyException(f"expected 1 to {rank} last axes, got {last}")
        super().verify_()


@irdl_op_definition
class LayerNormOp(TrailingAxesNormalization):
    """
    Layer normalization, `(x - mean) / sqrt(variance + epsilon) * weight + bias`. Mean
    and variance (the mean square of `x - mean`) are over the last axis, or over several
    trailing axes with, for example, `last 2` before `epsilon`. Weight and bias have the
    shape of these axes; either may be absent. Computed in f32 if x is narrower.

    ```mlir
    %y = graph.layer_norm %x weight %w bias %b epsilon 1.0e-05
        : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ```
    """

    name = "graph.layer_norm"
    PARAMETER_NAMES: ClassVar = ("weight", "bias")

    operand = operand_def(GraphTensorConstraint(FLOATS))
    weight = opt_operand_def(GraphTensorConstraint(FLOATS))
    bias = opt_operand_def(GraphTensorConstraint(FLOATS))

    result = result_def(GraphTensorConstraint(FLOATS))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        operand: SSAValue | Operation,
        weight: SSAValue | Operation | None = None,
        bias: SSAValue | Operation | None = None,
        last: int = 1,
        epsilon: float = 1e-5,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value, weight, bias],
            properties={
                "last": IntegerAttr(last, i64),
                "epsilon": FloatAttr(epsilon, f64),
            },
            result_types=[value.type],
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        named = self.broadcastable_arrays_by_name(operands)
        axes, work = self.untiled_axes, named["x"].dtype.type
        count, epsilon = (
            work(self.normalized_element_count),
            work(self.epsilon.value.data),
        )
        with np.errstate(all="ignore"):
            mean = np.divide(np.sum(named["x"], axis=axes, keepdims=True), count)
            centred = np.subtract(named["x"], mean)
            squares = np.sum(np.square(centred), axis=axes, keepdims=True)
            deviation = np.sqrt(np.add(np.divide(squares, count), epsilon))
            value = apply_weight_and_bias(np.divide(centred, deviation), named)
        return (round_to_type(value, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        wide, axes = program.promote_to_builder_type(self.operand), self.untiled_axes
        count = program.constant(self.normalized_element_count)
        total = program.reduce(wide, ReduceKind.SUM, axes, keepdims=True)
        centred = program.sub(wide, program.div(total, count))
        square = program.mul(centred, centred)
        squares = program.reduce(square, ReduceKind.SUM, axes, keepdims=True)
        variance = program.div(squares, count)
        epsilon = program.constant(self.epsilon.value.data)
        scale = program.rsqrt(program.add(variance, epsilon))
        steps: list[tuple[type[AddOp | MulOp], SSAValue]] = [(MulOp, scale)]
        if self.weight is not None:
            steps.append((MulOp, program.promote_to_builder_type(self.weight)))
        if self.bias is not None:
            steps.append((AddOp, program.promote_to_builder_type(self.bias)))
        return [build_binary_operation_chain(program, centred, steps, self.result.type)]

    def flops(self) -> int:
        elements = prod(shape_of(self.operand))
        rows = elements // self.normalized_element_count
        return (5 + len(self.parameters)) * elements + 4 * rows


@irdl_op_definition
class RmsNormOp(TrailingAxesNormalization):
    """
    RMS normalization, `x / sqrt(mean(x * x) + epsilon) * weight` (Zhang and Sennrich,
    Root Mean Square Layer Normalization, arXiv 1910.07467). The mean is over the `last`
    trailing axes, by default one. The weight has the shape of these axes, and may be
    absent. Computed in f32 if x is narrower.

    ```mlir
    %y = graph.rms_norm %x weight %w epsilon 1.0e-05
        : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ```
    """

    name = "graph.rms_norm"
    PARAMETER_NAMES: ClassVar = ("weight",)

    operand = operand_def(GraphTensorConstraint(FLOATS))
    weight = opt_operand_def(GraphTensorConstraint(FLOATS))

    result = result_def(GraphTensorConstraint(FLOATS))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        operand: SSAValue | Operation,
        weight: SSAValue | Operation | None = None,
        last: int = 1,
        epsilon: float = 1e-5,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value, weight],
            properties={
                "last": IntegerAttr(last, i64),
                "epsilon": FloatAttr(epsilon, f64),
            },
            result_types=[value.type],
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        named = self.broadcastable_arrays_by_name(operands)
        x, work = named["x"], named["x"].dtype.type
        count, epsilon = (
            work(self.normalized_element_count),
            work(self.epsilon.value.data),
        )
        with np.errstate(all="ignore"):
            squares = np.sum(np.square(x), axis=self.untiled_axes, keepdims=True)
            root = np.sqrt(np.add(np.divide(squares, count), epsilon))
            value = apply_weight_and_bias(np.divide(x, root), named)
        return (round_to_type(value, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        wide = program.promote_to_builder_type(self.operand)
        square = program.mul(wide, wide)
        squares = program.reduce(
            square, ReduceKind.SUM, self.untiled_axes, keepdims=True
        )
        mean = program.div(squares, program.constant(self.normalized_element_count))
        epsilon = program.constant(self.epsilon.value.data)
        steps: list[tuple[type[AddOp | MulOp], SSAValue]]
        steps = [(MulOp, program.rsqrt(program.add(mean, epsilon)))]
        if self.weight is not None:
            steps.append((MulOp, program.promote_to_builder_type(self.weight)))
        return [build_binary_operation_chain(program, wide, steps, self.result.type)]

    def flops(self) -> int:
        elements = prod(shape_of(self.operand))
        rows = elements // self.normalized_element_count
        return (3 + len(self.parameters)) * elements + 3 * rows
