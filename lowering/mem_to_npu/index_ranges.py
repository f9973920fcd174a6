"""
Analysis in the NPU code generator: integer ranges of index values, from constants and
loop bounds.
"""

import math
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.index_congruence import congruence_of
from tlf.analysis.buffers.normalized_loops import loop_range_of
from tlf.dialects import npu
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index

Range: TypeAlias = tuple[float, float]
"""Minimum and maximum value; infinite if unknown."""

UNKNOWN: Range = (-math.inf, math.inf)


def index_range_of(value: Index) -> Range:
    """
    Return inclusive lower and upper bounds of an index value, by interval arithmetic;
    infinite if unknown.
    """
    if (constant := constant_value_of(value)) is not None:
        return constant, constant
    assert isinstance(value, SSAValue)
    owner = value.owner
    if isinstance(owner, Block):
        return _induction_variable_range(value, owner)
    return _range_of_arithmetic_result(owner)


def _induction_variable_range(value: SSAValue, block: Block) -> Range:
    """Return the range of a loop variable from its bounds, or of a core index."""
    loop = block.parent_op()
    if isinstance(loop, npu.CoresOp):
        return 0, loop.core_count - 1
    if (bounds := loop_range_of(value)) is None:
        return UNKNOWN
    if (values := bounds.values) is None:
        return index_range_of(bounds.lower)[0], index_range_of(bounds.upper)[1] - 1
    return values.start, values[-1] if values else values.start


def _range_of_arithmetic_result(op: Operation) -> Range:
    """Return the range of an `arith` result by interval arithmetic on its operands."""
    if len(op.operands) != 2:
        return UNKNOWN
    (low, high), (other_low, other_high) = (
        index_range_of(each) for each in op.operands
    )
    match op:
        case arith.AddiOp():
            return low + other_low, high + other_high
        case arith.SubiOp():
            return low - other_high, high - other_low
        case arith.MinSIOp():
            return min(low, other_low), min(high, other_high)
        case arith.MaxSIOp():
            return max(low, other_low), max(high, other_high)
        case arith.MuliOp():
            ends = [
                _multiply_with_zero_times_infinity(a, b)
                for a in (low, high)
                for b in (other_low, other_high)
            ]
            return min(ends), max(ends)
        case arith.RemSIOp() if low >= 0 and other_low > 0:
            minimum, maximum = _remainder_range(op)
            return minimum, min(high, maximum, other_high - 1)
        case arith.FloorDivSIOp() if 0 < other_low == other_high:
            return low // other_low, high // other_low
        case arith.DivSIOp() if 0 < other_low == other_high and low >= 0:
            return low // other_low, high // other_low
        case _:
            return UNKNOWN


def _remainder_range(op: arith.RemSIOp) -> Range:
    """
    Return the range of a remainder, tightened by the known congruence of the result.
    """
    modulus, remainder = congruence_of(op.result)
    if (divisor := constant_value_of(op.rhs)) is None or not modulus:
        return 0, math.inf
    return remainder, divisor - modulus + remainder


def _multiply_with_zero_times_infinity(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b
