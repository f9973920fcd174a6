"""Import of ATen rounded divisions and remainders as graph operations."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.registry import converts


@converts("div.Scalar", "div.Tensor", "div.Tensor_mode", "div.Scalar_mode")
def _div(
    at: Emitter, x: Operand, y: Operand, *, rounding_mode: str | None = None
) -> SSAValue:
    if rounding_mode is None:
        return at.apply_wide(graph.DivOp, x, y)
    if not is_float(at.element):
        quotient = at.apply(graph.DivOp, x, y)
        if rounding_mode == "trunc":
            return quotient
        return at.sub(quotient, _floor_correction(at, x, y), at.element)
    element = at.wide if _is_scalar(y) else at.element
    if rounding_mode == "floor":
        return at.to_result(_floor_divide(at, at.cast(x, element), at.cast(y, element)))
    return at.to_result(at.emit(graph.TruncOp(at.div(x, y, element))))


def _is_scalar(value: Operand) -> bool:
    """
    Return `True` if a divisor is a number or has one element, so that the steps of the
    division are not rounded to 16 bits.
    """
    return not isinstance(value, SSAValue) or prod(shape_of(value)) == 1


def _floor_divide(at: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """Emit the floor division of floats, computed from the remainder."""
    element, plain_quotient = element_of(x), at.emit(graph.DivOp(x, y))
    remainder = at.emit(graph.RemOp(x, y))
    quotient = at.div(at.sub(x, remainder, element), y, element)
    lower = at.sub(quotient, 1, element)
    quotient = at.select(_has_opposite_sign(at, remainder, y), lower, quotient, element)
    floored = at.emit(graph.FloorOp(quotient))
    is_too_low = at.compare(at.sub(quotient, floored, element), 0.5, "gt", element)
    floored = at.select(is_too_low, at.add(floored, 1, element), floored, element)
    is_zero = at.compare(quotient, 0, "eq", element)
    floored = at.select(is_zero, at.mul(plain_quotient, 0, element), floored, element)
    return at.select(at.compare(y, 0, "eq", element), plain_quotient, floored, element)


def _has_opposite_sign(at: Emitter, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """
    Emit the test that a remainder is not 0 and its sign differs from the divisor's.
    """
    element = element_of(rest)
    signs = [at.compare(each, 0, "lt", element) for each in (rest, divisor)]
    differ = at.compare(signs[0], signs[1], "ne", i1)
    return at.emit(graph.AndOp(at.compare(rest, 0, "ne", element), differ))


def _floor_correction(at: Emitter, x: Operand, y: Operand) -> SSAValue:
    """Emit 1 where an inexact quotient of integers was rounded up, else 0."""
    remainder = at.apply(graph.RemOp, x, y)
    return at.cast(
        _has_opposite_sign(at, remainder, at.cast(y, at.element)), at.element
    )


@converts("fmod.Tensor", "fmod.Scalar")
def _fmod(at: Emitter, x: Operand, y: Operand) -> SSAValue:
    return at.apply(graph.RemOp, x, y)


@converts("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(at: Emitter, x: Operand, y: Operand) -> SSAValue:
    """Emit the remainder of a division rounded down; it has the sign of `y`."""
    divisor = at.cast(y, at.element)
    remainder = at.apply(graph.RemOp, x, divisor)
    shifted = at.add(remainder, divisor, at.element)
    return at.select(
        _has_opposite_sign(at, remainder, divisor), shifted, remainder, at.element
    )
