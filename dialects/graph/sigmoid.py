"""Operations `graph.sigmoid` (the logistic function) and `graph.silu`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.cast import convert_scalar
from tlf.dialects.graph.division import DivOp
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.graph.formula_arithmetic import (
    Arithmetic,
    ArrayArithmetic,
    ScalarBuilder,
    Value,
)
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import accumulator_of


def one_plus_exp(arithmetic: Arithmetic[Value], x: Value) -> Value:
    """
    Compute `1 + exp(x)`. It overflows to infinity for large x, where a quotient by it
    is 0, as is the rounded exact quotient.
    """
    return arithmetic.add(arithmetic.exp(x), arithmetic.constant(1.0))


def _denominator(arithmetic: Arithmetic[Value], x: Value) -> Value:
    """Compute `1 + exp(-x)`."""
    return one_plus_exp(arithmetic, arithmetic.mul(x, arithmetic.constant(-1.0)))


class LogisticOperation(UnaryOperation, DecompositionInterface, abc.ABC):
    """Base of quotients by `1 + exp(-x)`, computed in f32 if x is narrower."""

    @abc.abstractmethod
    def numerator(self, arithmetic: Arithmetic[Value], x: Value) -> Value:
        """Return the numerator of the quotient."""

    def compute(self, *operands: Array) -> Array:
        (x,) = operands
        arithmetic = ArrayArithmetic(x.dtype)
        return np.divide(self.numerator(arithmetic, x), _denominator(arithmetic, x))

    def build_scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        (element,) = elements
        work = accumulator_of(element.type)
        x = convert_scalar(builder, element, work)
        program = ScalarBuilder(builder, work)
        quotient = program.div(self.numerator(program, x), _denominator(program, x))
        return convert_scalar(builder, quotient, element.type)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        x = program.promote(self.operand)
        quotient = [self.numerator(program, x), _denominator(program, x)]
        return [program.build_result(DivOp, quotient, self.result.type)]

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

    def numerator(self, arithmetic: Arithmetic[Value], x: Value) -> Value:
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

    def numerator(self, arithmetic: Arithmetic[Value], x: Value) -> Value:
        return x
