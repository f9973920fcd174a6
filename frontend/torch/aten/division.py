"""
Import of ATen rounded divisions and remainders from PyTorch: converters of FX calls,
which build operations of `graph`.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("div.Scalar", "div.Tensor", "div.Tensor_mode", "div.Scalar_mode")
def _convert_div(
    emitter: Emitter, x: Operand, y: Operand, *, rounding_mode: str | None = None
) -> SSAValue:
    """Emit a true quotient, or one rounded by `rounding_mode`: `trunc` or `floor`."""
    if rounding_mode is None:
        return emitter.emit_elementwise_wide(graph.DivOp, x, y)
    if not is_float(emitter.result_element):
        quotient = emitter.emit_elementwise(graph.DivOp, x, y)
        if rounding_mode == "trunc":
            return quotient
        return emitter.sub(
            quotient, _emit_floor_correction(emitter, x, y), emitter.result_element
        )
    element = emitter.wide_element if _is_scalar_divisor(y) else emitter.result_element
    if rounding_mode == "floor":
        return emitter.to_result(
            _emit_floor_division(
                emitter, emitter.cast(x, element), emitter.cast(y, element)
            )
        )
    return emitter.to_result(emitter.emit(graph.TruncOp(emitter.div(x, y, element))))


def _is_scalar_divisor(value: Operand) -> bool:
    """
    Return `True` if a divisor is a number or has one element, so that the steps of the
    division are not rounded to 16 bits.
    """
    return not isinstance(value, SSAValue) or prod(shape_of(value)) == 1


def _emit_floor_division(emitter: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """Emit the floor division of floats, computed from the remainder."""
    element, plain_quotient = element_type_of_value(x), emitter.emit(graph.DivOp(x, y))
    remainder = emitter.emit(graph.RemOp(x, y))
    quotient = emitter.div(emitter.sub(x, remainder, element), y, element)
    lower = emitter.sub(quotient, 1, element)
    quotient = emitter.select(
        _emit_sign_mismatch(emitter, remainder, y), lower, quotient, element
    )
    floored = emitter.emit(graph.FloorOp(quotient))
    is_too_low = emitter.compare(
        emitter.sub(quotient, floored, element), 0.5, "gt", element
    )
    floored = emitter.select(
        is_too_low, emitter.add(floored, 1, element), floored, element
    )
    is_zero = emitter.compare(quotient, 0, "eq", element)
    floored = emitter.select(
        is_zero, emitter.mul(plain_quotient, 0, element), floored, element
    )
    return emitter.select(
        emitter.compare(y, 0, "eq", element), plain_quotient, floored, element
    )


def _emit_sign_mismatch(
    emitter: Emitter, remainder: SSAValue, divisor: SSAValue
) -> SSAValue:
    """
    Emit the test that a remainder is not 0 and its sign differs from the divisor's.
    """
    element = element_type_of_value(remainder)
    signs = [emitter.compare(each, 0, "lt", element) for each in (remainder, divisor)]
    differ = emitter.compare(signs[0], signs[1], "ne", i1)
    return emitter.emit(
        graph.AndOp(emitter.compare(remainder, 0, "ne", element), differ)
    )


def _emit_floor_correction(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
    """Emit 1 where an inexact quotient of integers was rounded up, else 0."""
    remainder = emitter.emit_elementwise(graph.RemOp, x, y)
    return emitter.cast(
        _emit_sign_mismatch(
            emitter, remainder, emitter.cast(y, emitter.result_element)
        ),
        emitter.result_element,
    )


@register_as_converter("fmod.Tensor", "fmod.Scalar")
def _convert_fmod(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
    return emitter.emit_elementwise(graph.RemOp, x, y)


@register_as_converter(
    "remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"
)
def _convert_remainder(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
    """Emit the remainder of a division rounded down; it has the sign of `y`."""
    divisor = emitter.cast(y, emitter.result_element)
    remainder = emitter.emit_elementwise(graph.RemOp, x, divisor)
    shifted = emitter.add(remainder, divisor, emitter.result_element)
    return emitter.select(
        _emit_sign_mismatch(emitter, remainder, divisor),
        shifted,
        remainder,
        emitter.result_element,
    )
