"""Elementwise functions of one tensor."""

from __future__ import annotations

import math as python_math
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.elementwise import UnaryOperation, inserted
from tlf.dialects.graph.tensors import NUMBERS
from tlf.dialects.interfaces import Array
from tlf.dialects.types import is_float, scalar_attribute


@irdl_op_definition
class ExpOp(UnaryOperation):
    """
    Elementwise exponential.

    ```mlir
    %power = graph.exp %x : tensor<4xf32>
    ```
    """

    name = "graph.exp"

    def compute(self, *operands: Array) -> Array:
        return np.exp(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.ExpOp(elements[0]))


@irdl_op_definition
class SqrtOp(UnaryOperation):
    """
    Elementwise square root, NaN where the operand is negative.

    ```mlir
    %root = graph.sqrt %x : tensor<4xf32>
    ```
    """

    name = "graph.sqrt"

    def compute(self, *operands: Array) -> Array:
        return np.sqrt(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.SqrtOp(elements[0]))


@irdl_op_definition
class RsqrtOp(UnaryOperation):
    """
    Elementwise reciprocal of the square root.

    ```mlir
    %scale = graph.rsqrt %x : tensor<4xf32>
    ```
    """

    name = "graph.rsqrt"

    def compute(self, *operands: Array) -> Array:
        return np.reciprocal(np.sqrt(operands[0]))

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.RsqrtOp(elements[0]))


@irdl_op_definition
class TanhOp(UnaryOperation):
    """
    Elementwise hyperbolic tangent.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32>
    ```
    """

    name = "graph.tanh"

    def compute(self, *operands: Array) -> Array:
        return np.tanh(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.TanhOp(elements[0]))


error_function = np.vectorize(python_math.erf, otypes=[np.float64])
"""The error function of each element of an array, in f64."""


@irdl_op_definition
class ErfOp(UnaryOperation):
    """
    Elementwise error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from
    0 to x (NIST Digital Library of Mathematical Functions, 7.2.1).

    ```mlir
    %y = graph.erf %x : tensor<4xf32>
    ```
    """

    name = "graph.erf"

    def compute(self, *operands: Array) -> Array:
        return error_function(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.ErfOp(elements[0]))


@irdl_op_definition
class NegOp(UnaryOperation):
    """
    Elementwise negation.

    ```mlir
    %y = graph.neg %x : tensor<4xf32>
    ```
    """

    name = "graph.neg"
    ELEMENTS: ClassVar = NUMBERS

    def compute(self, *operands: Array) -> Array:
        return np.negative(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        (element,) = elements
        if is_float(element.type):
            return inserted(builder, arith.NegfOp(element))
        zero = arith.ConstantOp(scalar_attribute(0, element.type))
        return inserted(builder, arith.SubiOp(inserted(builder, zero), element))

    def linear_in(self) -> tuple[int, ...]:
        return (0,)


@irdl_op_definition
class AbsOp(UnaryOperation):
    """
    Elementwise magnitude; of the least integer, itself.

    ```mlir
    %y = graph.abs %x : tensor<4xf32>
    ```
    """

    name = "graph.abs"
    ELEMENTS: ClassVar = NUMBERS

    def compute(self, *operands: Array) -> Array:
        return np.abs(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        kind = math.AbsFOp if is_float(elements[0].type) else math.AbsIOp
        return inserted(builder, kind(elements[0]))


@irdl_op_definition
class LogOp(UnaryOperation):
    """
    Elementwise natural logarithm, NaN where the operand is negative.

    ```mlir
    %y = graph.log %x : tensor<4xf32>
    ```
    """

    name = "graph.log"

    def compute(self, *operands: Array) -> Array:
        return np.log(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.LogOp(elements[0]))


@irdl_op_definition
class SinOp(UnaryOperation):
    """
    Elementwise sine.

    ```mlir
    %y = graph.sin %x : tensor<4xf32>
    ```
    """

    name = "graph.sin"

    def compute(self, *operands: Array) -> Array:
        return np.sin(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.SinOp(elements[0]))


@irdl_op_definition
class CosOp(UnaryOperation):
    """
    Elementwise cosine.

    ```mlir
    %y = graph.cos %x : tensor<4xf32>
    ```
    """

    name = "graph.cos"

    def compute(self, *operands: Array) -> Array:
        return np.cos(operands[0])

    def scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        return inserted(builder, math.CosOp(elements[0]))
