"""
Operations of the `graph` dialect for elementwise math functions of one tensor, such as
`graph.exp`.
"""

from __future__ import annotations

import abc
import math as python_math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from tlf.dialects.graph.elementwise import UnaryOperation, insert_op
from tlf.dialects.graph.tensor_types import NUMBERS
from tlf.dialects.interfaces import Array
from tlf.dialects.types import is_float, scalar_attribute


class MathFunctionOperation(UnaryOperation, abc.ABC):
    """
    Base of elementwise functions of floats with counterparts in numpy and `math`.
    Fast-math flags, as in `graph.tanh %x fastmath<afn> : tensor<4xf32>`, have the
    semantics of `math`: with `afn`, a target may use an approximation that is accurate
    to about the precision of 16-bit floats.
    """

    fastmath = opt_prop_def(arith.FastMathFlagsAttr)

    NUMPY_FUNCTION: ClassVar[Callable[[Array], Array]]
    """Numpy function."""

    MATH_OPERATION: ClassVar[type[math.FloatingPointLikeUnaryMathOperation]]
    """Scalar operation of the `math` dialect."""

    def compute_in_numpy(self, *operands: Array) -> Array:
        return type(self).NUMPY_FUNCTION(operands[0])

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        return insert_op(builder, self.MATH_OPERATION(elements[0], self.fastmath))

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        if parser.parse_optional_keyword("fastmath") is None:
            return {}
        flags = arith.FastMathFlagsAttr.parse_parameter(parser)
        return {"fastmath": arith.FastMathFlagsAttr(flags)}

    def print_options(self, printer: Printer) -> None:
        if self.fastmath is not None:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)


@irdl_op_definition
class ExpOp(MathFunctionOperation):
    """
    Elementwise e to the power of x.

    ```mlir
    %power = graph.exp %x : tensor<4xf32>
    ```
    """

    name = "graph.exp"
    NUMPY_FUNCTION: ClassVar = np.exp
    MATH_OPERATION: ClassVar = math.ExpOp


@irdl_op_definition
class SqrtOp(MathFunctionOperation):
    """
    Elementwise square root, NaN where the operand is negative.

    ```mlir
    %root = graph.sqrt %x : tensor<4xf32>
    ```
    """

    name = "graph.sqrt"
    NUMPY_FUNCTION: ClassVar = np.sqrt
    MATH_OPERATION: ClassVar = math.SqrtOp


def _compute_reciprocal_sqrt(array: Array) -> Array:
    return np.reciprocal(np.sqrt(array))


@irdl_op_definition
class RsqrtOp(MathFunctionOperation):
    """
    Elementwise reciprocal of the square root.

    ```mlir
    %scale = graph.rsqrt %x : tensor<4xf32>
    ```
    """

    name = "graph.rsqrt"
    NUMPY_FUNCTION: ClassVar = _compute_reciprocal_sqrt
    MATH_OPERATION: ClassVar = math.RsqrtOp


@irdl_op_definition
class TanhOp(MathFunctionOperation):
    """
    Elementwise hyperbolic tangent.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32>
    ```
    """

    name = "graph.tanh"
    NUMPY_FUNCTION: ClassVar = np.tanh
    MATH_OPERATION: ClassVar = math.TanhOp


error_function = np.vectorize(python_math.erf, otypes=[np.float64])
"""Elementwise error function of an array, in f64."""


@irdl_op_definition
class ErfOp(MathFunctionOperation):
    """
    Elementwise error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from
    0 to x (NIST Digital Library of Mathematical Functions, 7.2.1).

    ```mlir
    %y = graph.erf %x : tensor<4xf32>
    ```
    """

    name = "graph.erf"
    NUMPY_FUNCTION: ClassVar = error_function
    MATH_OPERATION: ClassVar = math.ErfOp


@irdl_op_definition
class NegOp(UnaryOperation):
    """
    Elementwise arithmetic negation, -x.

    ```mlir
    %y = graph.neg %x : tensor<4xf32>
    ```
    """

    name = "graph.neg"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.negative(operands[0])

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        (element,) = elements
        if is_float(element.type):
            return insert_op(builder, arith.NegfOp(element))
        zero = arith.ConstantOp(scalar_attribute(0, element.type))
        return insert_op(builder, arith.SubiOp(insert_op(builder, zero), element))

    def linear_operands(self) -> tuple[int, ...]:
        return (0,)


@irdl_op_definition
class AbsOp(UnaryOperation):
    """
    Elementwise absolute value; the least integer is unchanged.

    ```mlir
    %y = graph.abs %x : tensor<4xf32>
    ```
    """

    name = "graph.abs"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.abs(operands[0])

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        kind = math.AbsFOp if is_float(elements[0].type) else math.AbsIOp
        return insert_op(builder, kind(elements[0]))


@irdl_op_definition
class LogOp(MathFunctionOperation):
    """
    Elementwise natural logarithm, NaN where the operand is negative.

    ```mlir
    %y = graph.log %x : tensor<4xf32>
    ```
    """

    name = "graph.log"
    NUMPY_FUNCTION: ClassVar = np.log
    MATH_OPERATION: ClassVar = math.LogOp


@irdl_op_definition
class SinOp(MathFunctionOperation):
    """
    Elementwise sine of x in radians.

    ```mlir
    %y = graph.sin %x : tensor<4xf32>
    ```
    """

    name = "graph.sin"
    NUMPY_FUNCTION: ClassVar = np.sin
    MATH_OPERATION: ClassVar = math.SinOp


@irdl_op_definition
class CosOp(MathFunctionOperation):
    """
    Elementwise cosine of x in radians.

    ```mlir
    %y = graph.cos %x : tensor<4xf32>
    ```
    """

    name = "graph.cos"
    NUMPY_FUNCTION: ClassVar = np.cos
    MATH_OPERATION: ClassVar = math.CosOp
