"""Operations `graph.sigmoid` (the logistic function) and `graph.silu`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.cast import build_scalar_cast
from tlf.dialects.graph.division import DivOp
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.graph.formula_arithmetic import (
    ArrayArithmetic,
    FormulaArithmetic,
    ScalarBuilder,
    Value,
)
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import accumulator_type_of


def evaluate_one_plus_exp(arithmetic: FormulaArithmetic[Value], x: Value) -> Value:
    """
    Compute `1 + exp(x)`. It overflows to infinity for large x, where a quotient by it
    is 0, as is the rounded exact quotient.
    """
    return arithmetic.add(arithmetic.exp(x), arithmetic.constant(1.0))


def _evaluate_denominator(arithmetic: FormulaArithmetic[Value], x: Value) -> Value:
    """Compute `1 + exp(-x)`."""
    return evaluate_one_plus_exp(
        arithmetic, arithmetic.mul(x, arithmetic.constant(-1.0))
    )


class LogisticOperation(UnaryOperation, DecompositionInterface, abc.ABC):
    """Base of quotients by `1 + exp(-x)`, computed in f32 if x is narrower."""

    @abc.abstractmethod
    def evaluate_numerator(
        self, arithmetic: FormulaArithmetic[Value], x: Value
    ) -> Value:
        """Return the numerator of the quotient."""

    def compute_in_numpy(self, *operands: Array) -> Array:
        (x,) = operands
        arithmetic = ArrayArithmetic(x.dtype)
        return np.divide(
            self.evaluate_numerator(arithmetic, x), _evaluate_denominator(arithmetic, x)
        )

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        (element,) = elements
        work = accumulator_type_of(element.type)
        x = build_scalar_cast(builder, element, work)
        program = ScalarBuilder(builder, work)
        quotient = program.div(
            self.evaluate_numerator(program, x), _evaluate_denominator(program, x)
        )
        return build_scalar_cast(builder, quotient, element.type)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        x = program.promote_to_builder_type(self.operand)
        quotient = [
            self.evaluate_numerator(program, x),
            _evaluate_denominator(program, x),
        ]
        return [program.build_with_result_type(DivOp, quotient, self.result.type)]

    def flops(self) -> int:
        return 4 * prod(shape_of(self.result))


@irdl_op_definition
class SigmoidOp(LogisticOperation):
    """
    Logistic function, `1 / (1 + exp(-x))`. Computed in f32 if x is narrower.

    ```mlir
    %y = graph.sigmoid %x : tensor<4xbf16>
    ```
    """

    name = "graph.sigmoid"

    def evaluate_numerator(
        self, arithmetic: FormulaArithmetic[Value], x: Value
    ) -> Value:
        return arithmetic.constant(1.0)


@irdl_op_definition
class SiluOp(LogisticOperation):
    """
    Silu, x times the logistic function of x, `x / (1 + exp(-x))`. Computed in f32 if x
    is narrower.

    ```mlir
    %y = graph.silu %x : tensor<4xbf16>
    ```
    """

    name = "graph.silu"

    def evaluate_numerator(
        self, arithmetic: FormulaArithmetic[Value], x: Value
    ) -> Value:
        return x
