"""
Operations `graph.floor`, `graph.ceil`, `graph.trunc` and `graph.round`: elementwise
rounding to integers.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.unary_functions import MathFunctionOperation


@irdl_op_definition
class FloorOp(MathFunctionOperation):
    """
    Elementwise greatest integer that is not greater than x.

    ```mlir
    %y = graph.floor %x : tensor<4xf32>
    ```
    """

    name = "graph.floor"
    NUMPY_FUNCTION: ClassVar = np.floor
    MATH_OPERATION: ClassVar = math.FloorOp


@irdl_op_definition
class CeilOp(MathFunctionOperation):
    """
    Elementwise least integer that is not less than x.

    ```mlir
    %y = graph.ceil %x : tensor<4xf32>
    ```
    """

    name = "graph.ceil"
    NUMPY_FUNCTION: ClassVar = np.ceil
    MATH_OPERATION: ClassVar = math.CeilOp


@irdl_op_definition
class TruncOp(MathFunctionOperation):
    """
    Elementwise integer part: x rounded towards zero.

    ```mlir
    %y = graph.trunc %x : tensor<4xf32>
    ```
    """

    name = "graph.trunc"
    NUMPY_FUNCTION: ClassVar = np.trunc
    MATH_OPERATION: ClassVar = math.TruncOp


@irdl_op_definition
class RoundOp(MathFunctionOperation):
    """
    Elementwise nearest integer, ties to even.

    ```mlir
    %y = graph.round %x : tensor<4xf32>
    ```
    """

    name = "graph.round"
    NUMPY_FUNCTION: ClassVar = np.rint
    MATH_OPERATION: ClassVar = math.RoundEvenOp
