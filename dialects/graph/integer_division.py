"""Integer division that is defined for a zero divisor."""

from __future__ import annotations

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tlf.dialects.interfaces import Array
from tlf.dialects.types import scalar_attribute


def truncated_quotient(lhs: Array, rhs: Array) -> Array:
    """Return the quotient of integers, truncated towards zero."""
    return np.floor_divide(np.subtract(lhs, np.fmod(lhs, rhs)), rhs)


def safe_divisor(divisor: Array) -> Array:
    """Return the divisor with 0 replaced by 1."""
    return np.where(np.equal(divisor, 0), divisor.dtype.type(1), divisor)


def safe_scalar_divisor(builder: Builder, divisor: SSAValue) -> SSAValue:
    """
    Build the divisor with 0 replaced by 1: machines fault on 0, even in lanes outside
    of the elements of a tile.
    """
    zero, one = (
        builder.insert(arith.ConstantOp(scalar_attribute(number, divisor.type))).result
        for number in (0, 1)
    )
    is_zero = builder.insert(arith.CmpiOp(divisor, zero, "eq")).result
    return builder.insert(arith.SelectOp(is_zero, one, divisor)).result
