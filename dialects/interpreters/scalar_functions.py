"""
Reference interpretation of scalar bodies in the `mem` dialect on numpy arrays, one
array element per point.

Each operation rounds once to its declared type; floats are computed in double.
"""

import math as python_math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects.interfaces import Array
from tlf.dialects.mem.remainder import RemFOp
from tlf.dialects.types import dtype_of

_erf = np.vectorize(python_math.erf, otypes=[np.float64])


def _divide_towards_zero(lhs: Array, rhs: Array) -> Array:
    """Divide integers towards zero; valid for the least integer, too."""
    with np.errstate(all="ignore"):
        return np.floor_divide(np.subtract(lhs, np.fmod(lhs, rhs)), rhs)


def _compute_rsqrt(value: Array) -> Array:
    return np.divide(1, np.sqrt(value))


def _round_half_away_from_zero(value: Array) -> Array:
    """Round to the nearest integer, halves away from zero."""
    truncated = np.trunc(value)
    is_half = np.greater_equal(np.abs(np.subtract(value, truncated)), 0.5)
    return np.where(is_half, np.add(truncated, np.copysign(1, value)), truncated)


FUNCTIONS: Mapping[type[Operation], Callable[..., Array]] = {
    arith.AddfOp: np.add,
    arith.AddiOp: np.add,
    arith.AndIOp: np.bitwise_and,
    arith.DivfOp: np.divide,
    arith.DivSIOp: _divide_towards_zero,
    arith.MaximumfOp: np.maximum,
    arith.MaxnumfOp: np.fmax,
    arith.MaxSIOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MinnumfOp: np.fmin,
    arith.MinSIOp: np.minimum,
    arith.MulfOp: np.multiply,
    arith.MuliOp: np.multiply,
    arith.NegfOp: np.negative,
    arith.OrIOp: np.bitwise_or,
    arith.RemSIOp: np.fmod,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.SubfOp: np.subtract,
    arith.SubiOp: np.subtract,
    arith.XOrIOp: np.bitwise_xor,
    RemFOp: np.fmod,
    math.AbsFOp: np.abs,
    math.AbsIOp: np.abs,
    math.AcosOp: np.arccos,
    math.AcoshOp: np.arccosh,
    math.AsinOp: np.arcsin,
    math.AsinhOp: np.arcsinh,
    math.Atan2Op: np.arctan2,
    math.AtanOp: np.arctan,
    math.AtanhOp: np.arctanh,
    math.CbrtOp: np.cbrt,
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.CosOp: np.cos,
    math.CoshOp: np.cosh,
    math.ErfOp: _erf,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.ExpOp: np.exp,
    math.FloorOp: np.floor,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.Log2Op: np.log2,
    math.LogOp: np.log,
    math.PowFOp: np.power,
    math.RoundEvenOp: np.rint,
    math.RoundOp: _round_half_away_from_zero,
    math.RsqrtOp: _compute_rsqrt,
    math.SinOp: np.sin,
    math.SinhOp: np.sinh,
    math.SqrtOp: np.sqrt,
    math.TanOp: np.tan,
    math.TanhOp: np.tanh,
    math.TruncOp: np.trunc,
}

COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
}

CASTS = (
    arith.ExtFOp,
    arith.ExtUIOp,
    arith.FPToSIOp,
    arith.TruncFOp,
    arith.UIToFPOp,
)
SIGNED_CASTS = (arith.ExtSIOp, arith.SIToFPOp, arith.TruncIOp)


def evaluate_body_results(
    block: Block, arguments: Sequence[Array]
) -> tuple[Array, ...]:
    """Evaluate a scalar body, and return the values that its terminator yields."""
    values = evaluate_all_values_of_body(block, arguments)
    terminator = block.last_op
    assert terminator is not None
    return tuple(values[value] for value in terminator.operands)


def evaluate_all_values_of_body(
    block: Block, arguments: Sequence[Array]
) -> dict[SSAValue, Array]:
    """Evaluate a scalar body, and return the arrays of all its values."""
    values: dict[SSAValue, Array] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        if op.results:
            operands = [values[operand] for operand in op.operands]
            values[op.results[0]] = evaluate_scalar_operation(op, operands)
    return values


def evaluate_scalar_operation(op: Operation, operands: Sequence[Array]) -> Array:
    """Evaluate a scalar operation on arrays with one element per point."""
    dtype = dtype_of(op.results[0].type)
    match op:
        case arith.ConstantOp():
            return np.asarray(_scalar_constant_value(op), dtype)
        case arith.CmpfOp() | arith.CmpiOp():
            return _evaluate_comparison(op, *operands)
        case arith.SelectOp():
            return np.where(operands[0], operands[1], operands[2])
        case math.FmaOp():
            # Not a function of every target: passes for some of them introduce it.
            x, y, addend = map(_widen_floats_to_double, operands)
            return np.add(np.multiply(x, y), addend).astype(dtype)
        case _ if isinstance(op, SIGNED_CASTS):
            return _cast_with_boolean_sign(op, operands[0], dtype)
        case _ if isinstance(op, CASTS):
            return operands[0].astype(dtype)
        case _ if type(op) in FUNCTIONS:
            wide = [_widen_floats_to_double(operand) for operand in operands]
            return np.asarray(FUNCTIONS[type(op)](*wide)).astype(dtype)
        case _:
            raise InterpretationError(f"no scalar function for {op.name}")


def _widen_floats_to_double(array: Array) -> Array:
    """Convert floats to double; keep integers, so that they wrap."""
    if array.dtype.kind in "biu":
        return array
    return array.astype(np.float64)


def _scalar_constant_value(op: arith.ConstantOp) -> float:
    if isinstance(op.value, FloatAttr | IntegerAttr):
        return op.value.value.data
    raise InterpretationError(f"expected a scalar constant, got {op.value}")


def _cast_with_boolean_sign(
    op: Operation, array: Array, dtype: "np.dtype[np.generic]"
) -> Array:
    """
    Apply a cast that depends on the sign bit of an `i1`: true extends to -1, and
    truncation to `i1` keeps the lowest bit.
    """
    if op.results[0].type == i1:
        return np.not_equal(np.bitwise_and(array, 1), 0)
    if op.operands[0].type == i1:
        return np.negative(array.astype(np.int8)).astype(dtype)
    return array.astype(dtype)


def _evaluate_comparison(
    op: arith.CmpfOp | arith.CmpiOp, lhs: Array, rhs: Array
) -> Array:
    """
    Compare elementwise by the predicate of `op`, which says if NaN compares as true;
    raise `InterpretationError` for unsigned predicates of integers.
    """
    names = arith.CMPF_COMPARISON_OPERATIONS
    if isinstance(op, arith.CmpiOp):
        names = arith.CMPI_COMPARISON_OPERATIONS
    name = names[op.predicate.value.data]
    if isinstance(op, arith.CmpiOp):
        if name.startswith("u"):
            raise InterpretationError(f"no unsigned comparison, got {name}")
        return COMPARISONS[name[-2:]](lhs, rhs)
    if name in ("false", "true"):
        return np.full(np.broadcast_shapes(lhs.shape, rhs.shape), name == "true")
    unordered = np.isnan(_widen_floats_to_double(lhs)) | np.isnan(
        _widen_floats_to_double(rhs)
    )
    if name in ("ord", "uno"):
        return unordered if name == "uno" else ~unordered
    result = COMPARISONS[name[-2:]](lhs, rhs)
    if name.startswith("u"):
        return np.logical_or(result, unordered)
    return np.logical_and(result, ~unordered)
