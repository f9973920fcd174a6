"""
Import of ATen operations that create tensors with known elements: converters of FX
calls, which build constants and other operations of `graph`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Number
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("full.default")
def _convert_full(
    emitter: Emitter, size: Any, value: Number, **options: object
) -> SSAValue:
    return emitter.broadcast(
        emitter.emit_scalar(value, emitter.result_element), emitter.result_shape
    )


@register_as_converter("full_like.default", "new_full.default")
def _convert_full_like(
    emitter: Emitter, *arguments: Any, **options: object
) -> SSAValue:
    return emitter.broadcast(
        emitter.emit_scalar(arguments[-1], emitter.result_element), emitter.result_shape
    )


@register_as_converter(
    "empty.memory_format",
    "empty_like.default",
    "new_empty.default",
    "new_zeros.default",
    "zeros.default",
    "zeros_like.default",
)
def _convert_zeros(emitter: Emitter, *arguments: Any, **options: object) -> SSAValue:
    return emitter.broadcast(
        emitter.emit_scalar(0, emitter.result_element), emitter.result_shape
    )


@register_as_converter("ones.default", "ones_like.default", "new_ones.default")
def _convert_ones(emitter: Emitter, *arguments: Any, **options: object) -> SSAValue:
    return emitter.broadcast(
        emitter.emit_scalar(1, emitter.result_element), emitter.result_shape
    )


@register_as_converter("scalar_tensor.default")
def _convert_scalar_tensor(
    emitter: Emitter, value: Number, **options: object
) -> SSAValue:
    return emitter.emit_scalar(value, emitter.result_element)


@register_as_converter("arange.start_step")
def _convert_arange(
    emitter: Emitter, start: Number, end: Number, step: Number = 1, **options: object
) -> SSAValue:
    """
    Emit integers that the element type represents exactly as an iota, others as a
    constant.
    """
    (extent,) = emitter.result_shape
    if not is_float(emitter.result_element):
        indices = emitter.emit_iota(extent, emitter.result_element)
        return _emit_scaled_and_shifted(emitter, indices, int(start), int(step))
    numbers = start + step * np.arange(extent, dtype=np.float64)
    is_integer = math.floor(start) == start and math.floor(step) == step
    if is_integer and np.abs(numbers).max() <= 256:
        return _emit_scaled_and_shifted(
            emitter, emitter.emit_iota(extent, emitter.result_element), start, step
        )
    return emitter.emit_constant(numbers, emitter.result_element)


@register_as_converter("linspace.default")
def _convert_linspace(
    emitter: Emitter, start: Number, end: Number, steps: int, **options: object
) -> SSAValue:
    """Emit a constant, computed from the nearer end, so that both ends are exact."""
    is_integer = not is_float(emitter.result_element)
    first, last = (int(start), int(end)) if is_integer else (start, end)
    indices = np.arange(steps, dtype=np.float64)
    step = (last - first) / max(steps - 1, 1)
    rising, falling = first + step * indices, last - step * indices[::-1]
    numbers = np.where(indices < steps / 2, rising, falling)
    return emitter.emit_constant(
        np.trunc(numbers) if is_integer else numbers, emitter.result_element
    )


def _emit_scaled_and_shifted(
    emitter: Emitter, indices: SSAValue, shift: Number, scale: Number
) -> SSAValue:
    """Emit `indices * scale + shift` without the steps that change nothing."""
    value = (
        indices if scale == 1 else emitter.mul(indices, scale, emitter.result_element)
    )
    return value if shift == 0 else emitter.add(value, shift, emitter.result_element)


@register_as_converter("eye.default", "eye.m")
def _convert_eye(
    emitter: Emitter, rows: int, *arguments: Any, **options: object
) -> SSAValue:
    """Emit 1 where the row index equals the column index, and 0 elsewhere."""
    height, width = emitter.result_shape
    row = emitter.reshape(emitter.emit_iota(height, i64), (height, 1))
    return emitter.cast(
        emitter.compare(row, emitter.emit_iota(width, i64), "eq", i64),
        emitter.result_element,
    )
