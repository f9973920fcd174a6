"""Import of ATen operations that create tensors with known elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Number
from tlf.frontend.torch.registry import converts


@converts("full.default")
def _full(at: Emitter, size: Any, value: Number, **options: object) -> SSAValue:
    return at.broadcast(at.scalar(value, at.element), at.shape)


@converts("full_like.default", "new_full.default")
def _full_like(at: Emitter, *arguments: Any, **options: object) -> SSAValue:
    return at.broadcast(at.scalar(arguments[-1], at.element), at.shape)


@converts(
    "empty.memory_format",
    "empty_like.default",
    "new_empty.default",
    "new_zeros.default",
    "zeros.default",
    "zeros_like.default",
)
def _zeros(at: Emitter, *arguments: Any, **options: object) -> SSAValue:
    return at.broadcast(at.scalar(0, at.element), at.shape)


@converts("ones.default", "ones_like.default", "new_ones.default")
def _ones(at: Emitter, *arguments: Any, **options: object) -> SSAValue:
    return at.broadcast(at.scalar(1, at.element), at.shape)


@converts("scalar_tensor.default")
def _scalar_tensor(at: Emitter, value: Number, **options: object) -> SSAValue:
    return at.scalar(value, at.element)


@converts("arange.start_step")
def _arange(
    at: Emitter, start: Number, end: Number, step: Number = 1, **options: object
) -> SSAValue:
    """
    Emit integers that the element type represents exactly as an iota, others as a
    constant.
    """
    (extent,) = at.shape
    if not is_float(at.element):
        indices = at.iota(extent, at.element)
        return _scale_and_shift(at, indices, int(start), int(step))
    numbers = start + step * np.arange(extent, dtype=np.float64)
    is_integer = math.floor(start) == start and math.floor(step) == step
    if is_integer and np.abs(numbers).max() <= 256:
        return _scale_and_shift(at, at.iota(extent, at.element), start, step)
    return at.constant(numbers, at.element)


@converts("linspace.default")
def _linspace(
    at: Emitter, start: Number, end: Number, steps: int, **options: object
) -> SSAValue:
    """Emit a constant, computed from the nearer end, so that both ends are exact."""
    is_integer = not is_float(at.element)
    first, last = (int(start), int(end)) if is_integer else (start, end)
    indices = np.arange(steps, dtype=np.float64)
    step = (last - first) / max(steps - 1, 1)
    rising, falling = first + step * indices, last - step * indices[::-1]
    numbers = np.where(indices < steps / 2, rising, falling)
    return at.constant(np.trunc(numbers) if is_integer else numbers, at.element)


def _scale_and_shift(
    at: Emitter, indices: SSAValue, start: Number, step: Number
) -> SSAValue:
    value = indices if step == 1 else at.mul(indices, step, at.element)
    return value if start == 0 else at.add(value, start, at.element)


@converts("eye.default", "eye.m")
def _eye(at: Emitter, rows: int, *arguments: Any, **options: object) -> SSAValue:
    """Emit ones where the row index equals the column index."""
    height, width = at.shape
    row = at.reshape(at.iota(height, i64), (height, 1))
    return at.cast(at.compare(row, at.iota(width, i64), "eq", i64), at.element)
