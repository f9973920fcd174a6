"""Rounding to the precision of tf32."""

from __future__ import annotations

from typing import ClassVar

import ml_dtypes
import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.cast import build_scalar_cast
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.graph.formula_arithmetic import ScalarBuilder
from tlf.dialects.interfaces import Array

SHIFT = 2.0**13
"""Distance between the last bits of f32 and of tf32."""

LIMIT = 2.0**100
"""Size from which values are kept, so that no intermediate value overflows."""


@irdl_op_definition
class RoundTf32Op(UnaryOperation):
    """
    Elementwise rounding of f32 to the 11 significant bits of tf32, to the nearest, ties
    to even. Values of 2^100 and more are kept.

    ```mlir
    %y = graph.round_tf32 %x : tensor<4xf32>
    ```
    """

    name = "graph.round_tf32"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (f32,)

    def compute_in_numpy(self, *operands: Array) -> Array:
        (x,) = operands
        with np.errstate(all="ignore"):
            high = x.astype(ml_dtypes.bfloat16).astype(np.float32)
            large = np.multiply(high, np.float32(SHIFT))
            low = np.subtract(np.add(large, np.subtract(x, high)), large)
            is_small = np.less(np.abs(x), np.float32(LIMIT))
            return np.where(is_small, np.copysign(np.add(high, low), x), x)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        """
        Build the sum of the upper 8 bits and of the others, which are rounded by an
        addition of a number with the last bit of the result. All products are exact, so
        that a fused multiply-add has the same result. The sign of zero is kept.
        """
        (x,) = elements
        body = ScalarBuilder(builder, f32)
        high = build_scalar_cast(builder, build_scalar_cast(builder, x, bf16), f32)
        low = body.insert(arith.SubfOp(x, high))
        large = body.mul(high, body.constant(SHIFT))
        rounded = body.insert(arith.SubfOp(body.add(large, low), large))
        size = body.insert(math.AbsFOp(x))
        is_small = body.insert(arith.CmpfOp(size, body.constant(LIMIT), "olt"))
        total = body.insert(math.CopySignOp(body.add(high, rounded), x))
        return body.insert(arith.SelectOp(is_small, total, x))
