"""
Operations `graph.exp2`, `graph.expm1`, `graph.log1p`, `graph.log2` and `graph.log10`,
elementwise.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.unary_functions import MathFunctionOperation


@irdl_op_definition
class Exp2Op(MathFunctionOperation):
    """
    Elementwise 2 to the power of x.

    ```mlir
    %y = graph.exp2 %x : tensor<4xf32>
    ```
    """

    name = "graph.exp2"
    NUMPY_FUNCTION: ClassVar = np.exp2
    MATH_OPERATION: ClassVar = math.Exp2Op


@irdl_op_definition
class Expm1Op(MathFunctionOperation):
    """
    Elementwise exponential minus 1, without loss of digits near 0.

    ```mlir
    %y = graph.expm1 %x : tensor<4xf32>
    ```
    """

    name = "graph.expm1"
    NUMPY_FUNCTION: ClassVar = np.expm1
    MATH_OPERATION: ClassVar = math.ExpM1Op


@irdl_op_definition
class Log1pOp(MathFunctionOperation):
    """
    Elementwise natural logarithm of 1 + x, without loss of digits near 0; NaN
    where x is less than -1.

    ```mlir
    %y = graph.log1p %x : tensor<4xf32>
    ```
    """

    name = "graph.log1p"
    NUMPY_FUNCTION: ClassVar = np.log1p
    MATH_OPERATION: ClassVar = math.Log1pOp


@irdl_op_definition
class Log2Op(MathFunctionOperation):
    """
    Elementwise logarithm to base 2, NaN where the operand is negative.

    ```mlir
    %y = graph.log2 %x : tensor<4xf32>
    ```
    """

    name = "graph.log2"
    NUMPY_FUNCTION: ClassVar = np.log2
    MATH_OPERATION: ClassVar = math.Log2Op


@irdl_op_definition
class Log10Op(MathFunctionOperation):
    """
    Elementwise logarithm to base 10, NaN where the operand is negative.

    ```mlir
    %y = graph.log10 %x : tensor<4xf32>
    ```
    """

    name = "graph.log10"
    NUMPY_FUNCTION: ClassVar = np.log10
    MATH_OPERATION: ClassVar = math.Log10Op
