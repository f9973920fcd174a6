"""Import of ATen elementwise functions that are composed of other functions."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from tlf.dialects import graph
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import Converter, converts


def _make_nan_ignoring(kind: type[IRDLOperation]) -> Converter:
    """
    Return a converter to the extreme of two elements, or to the other element if one is
    NaN.
    """

    def convert(at: Emitter, x: Operand, y: Operand) -> SSAValue:
        element = at.element
        extreme = at.apply(kind, x, y)
        if not is_float(element):
            return extreme
        for side, other in ((x, y), (y, x)):
            is_nan = at.compare(side, side, "ne", element)
            extreme = at.select(is_nan, other, extreme, element)
        return extreme

    return convert


converts("fmax.default")(_make_nan_ignoring(graph.MaximumOp))
converts("fmin.default")(_make_nan_ignoring(graph.MinimumOp))


@converts("hypot.default")
def _hypot(at: Emitter, x: Operand, y: Operand) -> SSAValue:
    """
    Emit `large * sqrt(1 + (small / large)**2)`, which overflows only if the result
    does.
    """
    wide = at.wide
    sizes = [at.apply(graph.AbsOp, each, element=wide) for each in (x, y)]
    large = at.apply(graph.MaximumOp, *sizes, element=wide)
    small = at.apply(graph.MinimumOp, *sizes, element=wide)
    ratio = at.div(small, large, wide)
    root = at.apply(
        graph.SqrtOp, at.add(at.mul(ratio, ratio, wide), 1, wide), element=wide
    )
    is_zero = at.compare(large, 0, "eq", wide)
    result = at.select(is_zero, 0, at.mul(large, root, wide), wide)
    for size in sizes:
        is_infinite = at.compare(size, math.inf, "eq", wide)
        result = at.select(is_infinite, math.inf, result, wide)
    return at.to_result(result)


_ERFC = (
    *(0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807),
    *(-0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223),
)
"""
Chebyshev fit, highest power first, of the logarithm of `erfc(x) * exp(x * x) / t` for
`x >= 0`, in powers of `t = 1 / (1 + x / 2)`. The error is at most 1.2e-7.
"""


@converts("erfc.default")
def _erfc(at: Emitter, x: SSAValue) -> SSAValue:
    """
    Emit the complementary error function without `1 - erf(x)`, which cancels if
    `erf(x)` is close to 1. The square of x exceeds the precision of f32, so it is split
    in two parts, the first of which is exact.
    """
    if at.wide != f32:
        raise Unsupported(f"expected elements of at most 32 bits, got {at.element}")
    value = at.cast(x, f32)
    magnitude = at.apply(graph.AbsOp, value, element=f32)
    t = at.div(1, at.add(at.mul(magnitude, 0.5, f32), 1, f32), f32)
    coarse = at.cast(at.cast(magnitude, bf16), f32)
    residual = at.mul(
        at.sub(coarse, magnitude, f32), at.add(coarse, magnitude, f32), f32
    )
    exponent = at.add(_polynomial(at, t, _ERFC), residual, f32)
    square = at.apply(graph.NegOp, at.mul(coarse, coarse, f32), element=f32)
    tail = at.mul(t, _exponential(at, exponent), f32)
    tail = at.mul(tail, _exponential(at, square), f32)
    is_large = at.compare(magnitude, 16, "gt", f32)
    tail = at.select(is_large, 0, tail, f32)
    is_negative = at.compare(value, 0, "lt", f32)
    return at.to_result(at.select(is_negative, at.sub(2, tail, f32), tail, f32))


def _exponential(at: Emitter, x: SSAValue) -> SSAValue:
    return at.apply(graph.ExpOp, x, element=f32)


def _polynomial(at: Emitter, x: SSAValue, factors: tuple[float, ...]) -> SSAValue:
    """Emit a polynomial in x, with the coefficient of the highest power first."""
    total = at.cast(factors[0], f32)
    for factor in factors[1:]:
        total = at.add(at.mul(total, x, f32), factor, f32)
    return total


@converts("round.decimals")
def _round_decimals(at: Emitter, x: SSAValue, *, decimals: int = 0) -> SSAValue:
    """
    Emit a rounding to decimals; negative `decimals` round to tens, hundreds and so on.
    """
    if not is_float(at.element):
        return x
    wide = at.wide
    scale = 10.0 ** abs(decimals)
    forward, inverse = (at.mul, at.div) if decimals > 0 else (at.div, at.mul)
    rounded = at.apply(graph.RoundOp, forward(x, scale, wide), element=wide)
    return at.to_result(inverse(rounded, scale, wide))
