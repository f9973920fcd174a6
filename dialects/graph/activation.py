"""Operations `graph.relu`, `graph.gelu` and `graph.dropout`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, f64
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, prop_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.graph.cast import build_scalar_cast
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.graph.formula_arithmetic import (
    ArrayArithmetic,
    FormulaArithmetic,
    ScalarBuilder,
    Value,
)
from tlf.dialects.graph.identity_operation import IdentityOperation
from tlf.dialects.graph.sigmoid import evaluate_one_plus_exp
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import NUMBERS, shape_of
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.keyword_params import parse_keyword_param
from tlf.dialects.types import (
    ELEMENT_TYPES,
    accumulator_type_of,
    is_float,
    scalar_attribute,
)


class GeluKind(StrEnum):
    """Formula for the cumulative normal distribution in gelu."""

    ERF = "erf"
    TANH = "tanh"


@irdl_attr_definition
class GeluKindAttr(Data[GeluKind]):
    """
    Formula of gelu for the cumulative normal distribution: `erf`, or `tanh` as its
    approximation.

    ```mlir
    #graph.gelu_kind<tanh>
    ```
    """

    name = "graph.gelu_kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> GeluKind:
        return parse_keyword_param(parser, GeluKind)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


def _evaluate_gelu(
    arithmetic: FormulaArithmetic[Value], kind: GeluKind, x: Value
) -> Value:
    """
    Evaluate the formula of gelu. `(1 + tanh(t)) / 2` is computed as
    `1 / (1 + exp(-2 t))`, which loses no digits where the tangent is close to -1.
    """
    constant, mul = arithmetic.constant, arithmetic.mul
    if kind is GeluKind.ERF:
        error = arithmetic.erf(mul(x, constant(math.sqrt(0.5))))
        return mul(mul(x, constant(0.5)), arithmetic.add(error, constant(1.0)))
    scale = -2 * math.sqrt(2 / math.pi)
    slope = arithmetic.add(mul(mul(x, x), constant(0.044715 * scale)), constant(scale))
    return arithmetic.div(x, evaluate_one_plus_exp(arithmetic, mul(x, slope)))


@irdl_op_definition
class ReluOp(UnaryOperation):
    """
    Elementwise maximum of 0 and x, NaN where x is NaN.

    ```mlir
    %y = graph.relu %x : tensor<4xf32>
    ```
    """

    name = "graph.relu"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.maximum(operands[0].dtype.type(0), operands[0])

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        (element,) = elements
        zero = builder.insert(arith.ConstantOp(scalar_attribute(0, element.type)))
        kind = arith.MaximumfOp if is_float(element.type) else arith.MaxSIOp
        return builder.insert(kind(zero, element)).results[0]


@irdl_op_definition
class GeluOp(UnaryOperation, DecompositionInterface):
    """
    Gelu, x times the cumulative normal distribution at x:
    `x / 2 * (1 + erf(x / sqrt(2)))` (`erf`), or its approximation
    `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))` (`tanh`; Hendrycks and
    Gimpel, Gaussian Error Linear Units, arXiv 1606.08415), which is computed by an
    exponential. Computed in f32 if x is narrower.

    ```mlir
    %y = graph.gelu %x <tanh> : tensor<4xbf16>
    ```
    """

    name = "graph.gelu"

    kind = prop_def(GeluKindAttr)

    def __init__(
        self, operand: SSAValue | Operation, kind: GeluKind | str = GeluKind.ERF
    ):
        super().__init__(operand, {"kind": GeluKindAttr(GeluKind(kind))})

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        return {"kind": GeluKindAttr(GeluKindAttr.parse_parameter(parser))}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.kind.print_parameter(printer)

    def compute_in_numpy(self, *operands: Array) -> Array:
        (x,) = operands
        return _evaluate_gelu(ArrayArithmetic(x.dtype), self.kind.data, x)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        (element,) = elements
        work = accumulator_type_of(element.type)
        wide = build_scalar_cast(builder, element, work)
        result = _evaluate_gelu(ScalarBuilder(builder, work), self.kind.data, wide)
        return build_scalar_cast(builder, result, element.type)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorBuilder.for_operand(builder, self.operand)
        result = _evaluate_gelu(
            program, self.kind.data, program.promote_to_builder_type(self.operand)
        )
        return [program.cast_to_type(result, self.result.type)]

    def flops(self) -> int:
        per_element = 5 if self.kind.data is GeluKind.ERF else 7
        return per_element * math.prod(shape_of(self.result))


@irdl_op_definition
class DropoutOp(IdentityOperation):
    """
    Dropout in inference: returns its operand. A fraction `ratio` of the elements is
    dropped in training only.

    ```mlir
    %y = graph.dropout %x ratio 0.1 : tensor<4xf32>
    ```
    """

    name = "graph.dropout"
    ACCEPTED_ELEMENT_TYPES: ClassVar = ELEMENT_TYPES

    ratio = prop_def(FloatAttr[AnyFloat])

    def __init__(self, operand: SSAValue | Operation, ratio: float = 0.5):
        super().__init__(operand, {"ratio": FloatAttr(ratio, f64)})

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        parser.parse_keyword("ratio")
        return {"ratio": FloatAttr(float(parser.parse_number()), f64)}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" ratio ")
        printer.print_float(self.ratio.value.data, f64)

    def verify_(self) -> None:
        if not 0 <= self.ratio.value.data <= 1:
            raise VerifyException(
                f"expected a ratio between 0 and 1, got {self.ratio.value.data}"
            )
        super().verify_()

    def linear_operands(self) -> tuple[int, ...]:
        return (0,)
