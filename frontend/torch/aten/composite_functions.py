"""
Import of ATen elementwise functions without an operation of their own in `graph`:
converters of FX calls, which build them of several operations.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from tlf.dialects import graph
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import Converter, register_as_converter


def _make_nan_ignoring_converter(op_type: type[IRDLOperation]) -> Converter:
    """
    Return a converter to the extreme of two elements, or to the other element if one is
    NaN.
    """

    def convert(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
        element = emitter.result_element
        extreme = emitter.emit_elementwise(op_type, x, y)
        if not is_float(element):
            return extreme
        for side, other in ((x, y), (y, x)):
            is_nan = emitter.compare(side, side, "ne", element)
            extreme = emitter.select(is_nan, other, extreme, element)
        return extreme

    return convert


register_as_converter("fmax.default")(_make_nan_ignoring_converter(graph.MaximumOp))
register_as_converter("fmin.default")(_make_nan_ignoring_converter(graph.MinimumOp))


@register_as_converter("hypot.default")
def _convert_hypot(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
    """
    Emit `large * sqrt(1 + (small / large)**2)`, which overflows only if the result
    does.
    """
    wide = emitter.wide_element
    sizes = [
        emitter.emit_elementwise(graph.AbsOp, each, element=wide) for each in (x, y)
    ]
    large = emitter.emit_elementwise(graph.MaximumOp, *sizes, element=wide)
    small = emitter.emit_elementwise(graph.MinimumOp, *sizes, element=wide)
    ratio = emitter.div(small, large, wide)
    root = emitter.emit_elementwise(
        graph.SqrtOp,
        emitter.add(emitter.mul(ratio, ratio, wide), 1, wide),
        element=wide,
    )
    is_zero = emitter.compare(large, 0, "eq", wide)
    result = emitter.select(is_zero, 0, emitter.mul(large, root, wide), wide)
    for size in sizes:
        is_infinite = emitter.compare(size, math.inf, "eq", wide)
        result = emitter.select(is_infinite, math.inf, result, wide)
    return emitter.to_result(result)


_ERFC = (
    *(0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807),
    *(-0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223),
)
"""
Chebyshev fit, highest power first, of the logarithm of `erfc(x) * exp(x * x) / t` for
`x >= 0`, in powers of `t = 1 / (1 + x / 2)`. The error is at most 1.2e-7.
"""


@register_as_converter("erfc.default")
def _convert_erfc(emitter: Emitter, x: SSAValue) -> SSAValue:
    """
    Emit the complementary error function without `1 - erf(x)`, which cancels if
    `erf(x)` is close to 1. The square of x exceeds the precision of f32, so it is split
    in two parts, the first of which is exact.
    """
    if emitter.wide_element != f32:
        raise Unsupported(
            f"expected elements of at most 32 bits, got {emitter.result_element}"
        )
    value = emitter.cast(x, f32)
    magnitude = emitter.emit_elementwise(graph.AbsOp, value, element=f32)
    t = emitter.div(1, emitter.add(emitter.mul(magnitude, 0.5, f32), 1, f32), f32)
    coarse = emitter.cast(emitter.cast(magnitude, bf16), f32)
    residual = emitter.mul(
        emitter.sub(coarse, magnitude, f32), emitter.add(coarse, magnitude, f32), f32
    )
    exponent = emitter.add(_emit_polynomial(emitter, t, _ERFC), residual, f32)
    square = emitter.emit_elementwise(
        graph.NegOp, emitter.mul(coarse, coarse, f32), element=f32
    )
    tail = emitter.mul(t, _emit_f32_exponential(emitter, exponent), f32)
    tail = emitter.mul(tail, _emit_f32_exponential(emitter, square), f32)
    is_large = emitter.compare(magnitude, 16, "gt", f32)
    tail = emitter.select(is_large, 0, tail, f32)
    is_negative = emitter.compare(value, 0, "lt", f32)
    return emitter.to_result(
        emitter.select(is_negative, emitter.sub(2, tail, f32), tail, f32)
    )


def _emit_f32_exponential(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.emit_elementwise(graph.ExpOp, x, element=f32)


def _emit_polynomial(
    emitter: Emitter, x: SSAValue, coefficients: tuple[float, ...]
) -> SSAValue:
    """Emit a polynomial in x, with the coefficient of the highest power first."""
    total = emitter.cast(coefficients[0], f32)
    for factor in coefficients[1:]:
        total = emitter.add(emitter.mul(total, x, f32), factor, f32)
    return total


@register_as_converter("round.decimals")
def _convert_round_decimals(
    emitter: Emitter, x: SSAValue, *, decimals: int = 0
) -> SSAValue:
    """
    Emit a rounding to decimals; negative `decimals` round to tens, hundreds and so on.
    """
    if not is_float(emitter.result_element):
        return x
    wide = emitter.wide_element
    scale = 10.0 ** abs(decimals)
    forward, inverse = (
        (emitter.mul, emitter.div) if decimals > 0 else (emitter.div, emitter.mul)
    )
    rounded = emitter.emit_elementwise(
        graph.RoundOp, forward(x, scale, wide), element=wide
    )
    return emitter.to_result(inverse(rounded, scale, wide))
