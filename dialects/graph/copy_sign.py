"""Operation `graph.copysign`, elementwise."""

from __future__ import annotations

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import math
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.elementwise import BinaryOperation, insert_op
from tlf.dialects.interfaces import Array


@irdl_op_definition
class CopySignOp(BinaryOperation):
    """
    Elementwise magnitude of a with the sign of b; zeros and NaN have a sign, too.

    ```mlir
    %y = graph.copysign %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.copysign"

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.copysign(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        return insert_op(builder, math.CopySignOp(lhs, rhs))
