"""Conversion of elementwise functions that are composed of others."""

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
    Return a converter to the extreme of two elements, or to the other one where one is
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
    The larger size times the root of 1 and the square of a quotient, which overflows
    only where the result does.
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
    found = at.select(is_zero, 0, at.mul(large, root, wide), wide)
    for size in sizes:
        is_infinite = at.compare(size, math.inf, "eq", wide)
        found = at.select(is_infinite, math.inf, found, wide)
    return at.to_result(found)


_ERFC = (
    *(0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807),
    *(-0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223),
)
"""A fit by Chebyshev, from its highest power down: of the logarithm of what is left of
`erfc(x) * exp(x * x)` for `x >= 0`, less that of `t = 1 / (1 + x / 2)`, in powers of t.
It is off by at most 1.2e-7."""


@converts("erfc.default")
def _erfc(at: Emitter, x: SSAValue) -> SSAValue:
    """
    Not 1 less the error function, of which nothing is left where that is close to 1.
    The square of x has more digits than f32 holds, so it comes in two parts, of which
    the first one is exact.
    """
    if at.wide != f32:
        raise Unsupported(f"expected elements of at most 32 bits, got {at.element}")
    value = at.cast(x, f32)
    size = at.apply(graph.AbsOp, value, element=f32)
    t = at.div(1, at.add(at.mul(size, 0.5, f32), 1, f32), f32)
    coarse = at.cast(at.cast(size, bf16), f32)
    rest = at.mul(at.sub(coarse, size, f32), at.add(coarse, size, f32), f32)
    exponent = at.add(_polynomial(at, t, _ERFC), rest, f32)
    square = at.apply(graph.NegOp, at.mul(coarse, coarse, f32), element=f32)
    tail = at.mul(t, _exponential(at, exponent), f32)
    tail = at.mul(tail, _exponential(at, square), f32)
    is_far = at.compare(size, 16, "gt", f32)
    tail = at.select(is_far, 0, tail, f32)
    is_negative = at.compare(value, 0, "lt", f32)
    return at.to_result(at.select(is_negative, at.sub(2, tail, f32), tail, f32))


def _exponential(at: Emitter, x: SSAValue) -> SSAValue:
    return at.apply(graph.ExpOp, x, element=f32)


def _polynomial(at: Emitter, x: SSAValue, factors: tuple[float, ...]) -> SSAValue:
    """The sum of powers of x with factors, of which the highest comes first."""
    total = at.cast(factors[0], f32)
    for factor in factors[1:]:
        total = at.add(at.mul(total, x, f32), factor, f32)
    return total


@converts("round.decimals")
def _round_decimals(at: Emitter, x: SSAValue, *, decimals: int = 0) -> SSAValue:
    """Negative `decimals` round to tens, hundreds and so on."""
    if not is_float(at.element):
        return x
    wide = at.wide
    scale = 10.0 ** abs(decimals)
    there, back = (at.mul, at.div) if decimals > 0 else (at.div, at.mul)
    whole = at.apply(graph.RoundOp, there(x, scale, wide), element=wide)
    return at.to_result(back(whole, scale, wide))
