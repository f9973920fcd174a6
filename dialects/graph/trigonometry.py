"""
Operations of the `graph` dialect for trigonometric and hyperbolic functions, and their
inverses, elementwise.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import math
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.elementwise import BinaryOperation, insert_op
from tlf.dialects.graph.unary_functions import MathFunctionOperation
from tlf.dialects.interfaces import Array


@irdl_op_definition
class TanOp(MathFunctionOperation):
    """
    Elementwise tangent of x in radians.

    ```mlir
    %y = graph.tan %x : tensor<4xf32>
    ```
    """

    name = "graph.tan"
    NUMPY_FUNCTION: ClassVar = np.tan
    MATH_OPERATION: ClassVar = math.TanOp


@irdl_op_definition
class AsinOp(MathFunctionOperation):
    """
    Elementwise inverse sine in radians, -pi/2 to pi/2; NaN outside of -1 to 1.

    ```mlir
    %y = graph.asin %x : tensor<4xf32>
    ```
    """

    name = "graph.asin"
    NUMPY_FUNCTION: ClassVar = np.arcsin
    MATH_OPERATION: ClassVar = math.AsinOp


@irdl_op_definition
class AcosOp(MathFunctionOperation):
    """
    Elementwise inverse cosine in radians, 0 to pi; NaN outside of -1 to 1.

    ```mlir
    %y = graph.acos %x : tensor<4xf32>
    ```
    """

    name = "graph.acos"
    NUMPY_FUNCTION: ClassVar = np.arccos
    MATH_OPERATION: ClassVar = math.AcosOp


@irdl_op_definition
class AtanOp(MathFunctionOperation):
    """
    Elementwise inverse tangent in radians, -pi/2 to pi/2.

    ```mlir
    %y = graph.atan %x : tensor<4xf32>
    ```
    """

    name = "graph.atan"
    NUMPY_FUNCTION: ClassVar = np.arctan
    MATH_OPERATION: ClassVar = math.AtanOp


@irdl_op_definition
class SinhOp(MathFunctionOperation):
    """
    Elementwise hyperbolic sine.

    ```mlir
    %y = graph.sinh %x : tensor<4xf32>
    ```
    """

    name = "graph.sinh"
    NUMPY_FUNCTION: ClassVar = np.sinh
    MATH_OPERATION: ClassVar = math.SinhOp


@irdl_op_definition
class CoshOp(MathFunctionOperation):
    """
    Elementwise hyperbolic cosine.

    ```mlir
    %y = graph.cosh %x : tensor<4xf32>
    ```
    """

    name = "graph.cosh"
    NUMPY_FUNCTION: ClassVar = np.cosh
    MATH_OPERATION: ClassVar = math.CoshOp


@irdl_op_definition
class AsinhOp(MathFunctionOperation):
    """
    Elementwise inverse hyperbolic sine.

    ```mlir
    %y = graph.asinh %x : tensor<4xf32>
    ```
    """

    name = "graph.asinh"
    NUMPY_FUNCTION: ClassVar = np.arcsinh
    MATH_OPERATION: ClassVar = math.AsinhOp


@irdl_op_definition
class AcoshOp(MathFunctionOperation):
    """
    Elementwise inverse hyperbolic cosine, NaN where the operand is less than
    1.

    ```mlir
    %y = graph.acosh %x : tensor<4xf32>
    ```
    """

    name = "graph.acosh"
    NUMPY_FUNCTION: ClassVar = np.arccosh
    MATH_OPERATION: ClassVar = math.AcoshOp


@irdl_op_definition
class AtanhOp(MathFunctionOperation):
    """
    Elementwise inverse hyperbolic tangent, NaN outside of -1 to 1.

    ```mlir
    %y = graph.atanh %x : tensor<4xf32>
    ```
    """

    name = "graph.atanh"
    NUMPY_FUNCTION: ClassVar = np.arctanh
    MATH_OPERATION: ClassVar = math.AtanhOp


@irdl_op_definition
class Atan2Op(BinaryOperation):
    """
    Elementwise angle of the point `(b, a)`, between -pi and pi: the inverse tangent of
    `a / b` where b is positive.

    ```mlir
    %angle = graph.atan2 %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.atan2"

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.arctan2(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        return insert_op(builder, math.Atan2Op(lhs, rhs))
