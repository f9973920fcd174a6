"""Integer division that is defined for a zero divisor."""

from __future__ import annotations

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tlf.dialects.interfaces import Array
from tlf.dialects.types import scalar_attribute


def truncated_quotient(lhs: Array, rhs: Array) -> Array:
    """The quotient of integers, without its fraction."""
    return np.floor_divide(np.subtract(lhs, np.fmod(lhs, rhs)), rhs)


def safe_divisor(divisor: Array) -> Array:
    """The divisor, but 1 for 0."""
    return np.where(np.equal(divisor, 0), divisor.dtype.type(1), divisor)


def safe_scalar_divisor(builder: Builder, divisor: SSAValue) -> SSAValue:
    """The divisor, but 1 for 0: machines fault, even beside the elements of a tile."""
    zero, one = (
        builder.insert(arith.ConstantOp(scalar_attribute(number, divisor.type))).result
        for number in (0, 1)
    )
    is_zero = builder.insert(arith.CmpiOp(divisor, zero, "eq")).result
    return builder.insert(arith.SelectOp(is_zero, one, divisor)).result
