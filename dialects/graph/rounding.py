"""Operations of elementwise rounding to integers: floor, ceil, trunc and round."""

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
    FUNCTION: ClassVar = np.floor
    SCALAR: ClassVar = math.FloorOp


@irdl_op_definition
class CeilOp(MathFunctionOperation):
    """
    Elementwise least integer that is not less than x.

    ```mlir
    %y = graph.ceil %x : tensor<4xf32>
    ```
    """

    name = "graph.ceil"
    FUNCTION: ClassVar = np.ceil
    SCALAR: ClassVar = math.CeilOp


@irdl_op_definition
class TruncOp(MathFunctionOperation):
    """
    Elementwise integer part: x rounded towards zero.

    ```mlir
    %y = graph.trunc %x : tensor<4xf32>
    ```
    """

    name = "graph.trunc"
    FUNCTION: ClassVar = np.trunc
    SCALAR: ClassVar = math.TruncOp


@irdl_op_definition
class RoundOp(MathFunctionOperation):
    """
    Elementwise nearest integer, ties to even.

    ```mlir
    %y = graph.round %x : tensor<4xf32>
    ```
    """

    name = "graph.round"
    FUNCTION: ClassVar = np.rint
    SCALAR: ClassVar = math.RoundEvenOp
