"""Operations for exponentials and logarithms other than the natural ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.unary_functions import MathFunctionOperation


@irdl_op_definition
class Exp2Op(MathFunctionOperation):
    """
    Elementwise power of 2.

    ```mlir
    %y = graph.exp2 %x : tensor<4xf32>
    ```
    """

    name = "graph.exp2"
    FUNCTION: ClassVar = np.exp2
    SCALAR: ClassVar = math.Exp2Op


@irdl_op_definition
class Expm1Op(MathFunctionOperation):
    """
    Elementwise exponential minus 1, without loss of digits near 0.

    ```mlir
    %y = graph.expm1 %x : tensor<4xf32>
    ```
    """

    name = "graph.expm1"
    FUNCTION: ClassVar = np.expm1
    SCALAR: ClassVar = math.ExpM1Op


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
    FUNCTION: ClassVar = np.log1p
    SCALAR: ClassVar = math.Log1pOp


@irdl_op_definition
class Log2Op(MathFunctionOperation):
    """
    Elementwise logarithm to base 2, NaN where the operand is negative.

    ```mlir
    %y = graph.log2 %x : tensor<4xf32>
    ```
    """

    name = "graph.log2"
    FUNCTION: ClassVar = np.log2
    SCALAR: ClassVar = math.Log2Op


@irdl_op_definition
class Log10Op(MathFunctionOperation):
    """
    Elementwise logarithm to base 10, NaN where the operand is negative.

    ```mlir
    %y = graph.log10 %x : tensor<4xf32>
    ```
    """

    name = "graph.log10"
    FUNCTION: ClassVar = np.log10
    SCALAR: ClassVar = math.Log10Op
