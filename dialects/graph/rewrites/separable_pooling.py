"""
Rewrite rule of the max poolings of the `graph` dialect: split one into poolings along
one axis, then the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.graph.windowed_operation import (
    WindowedOperation,
    properties_of_window,
)
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import tensor_type, tensor_type_like

MIN_STEP_RATIO = 2
"""Minimum ratio of steps, before to after, that pays for intermediate traffic."""


def separate_pooling_axes(op: Operation) -> Iterator[Simplification]:
    """
    Pool along one axis, then along the others: for windows of `k x k` elements that
    overlap, `2 k` steps instead of `k^2`.
    """
    assert isinstance(op, WindowedOperation)
    types = [tensor_type(value).element_type for value in (*op.operands, *op.results)]
    if len(types) != 2 or types[0] != types[1] or "acc" in op.properties:
        return
    images, window = shape_of(op.operands[0])[2:], op.window
    axes = [axis for axis, taps in enumerate(window.taps) if taps > 1]
    if len(axes) < 2:
        return
    first = min(axes, key=lambda axis: _count_combined_elements(window, images, axis))
    extents = window.output_extents(shape_of(op.operands[0]))
    if _count_combined_elements(window, images, first) * MIN_STEP_RATIO > prod(
        (*extents, *window.taps)
    ):
        return
    text = "max(x of a window) = max(max(x of a row) of rows)"
    yield Simplification(
        text, lambda builder: _build_separated_poolings(op, first, builder)
    )


def _count_combined_elements(
    window: Window, image_extents: tuple[int, ...], first_axis: int
) -> int:
    """
    Return the number of elements per image and channel that a pooling along
    `first_axis`, then one along the others, combine in total.
    """
    extents = window.output_extents((1, 1, *image_extents))
    before = (
        prod(image_extents)
        // image_extents[first_axis]
        * extents[first_axis]
        * window.taps[first_axis]
    )
    others = prod(taps for axis, taps in enumerate(window.taps) if axis != first_axis)
    return before + prod(extents) * others


def _build_separated_poolings(
    op: WindowedOperation, first_axis: int, builder: Builder
) -> SSAValue:
    """
    Build a pooling along `first_axis` and one of its result along the others, equal to
    `op`; return the latter's result.
    """
    others = {axis for axis in range(op.window.rank) if axis != first_axis}
    value, result = op.operands[0], tensor_type(op.results[0])
    for dropped in (others, {first_axis}):
        window = _drop_window_axes(op.window, dropped)
        shape = op.infer_pooled_shape(shape_of(value), window)
        type_ = result if dropped == {first_axis} else tensor_type_like(result, shape)
        pooling = type(op).create(
            operands=[value],
            result_types=[type_],
            properties={**op.properties, **properties_of_window(window)},
        )
        value = builder.insert(pooling).results[0]
    return value


def _drop_window_axes(window: Window, axes: set[int]) -> Window:
    """
    Return a copy of the window with one tap, unit stride and no padding along `axes`.
    """

    def reset_dropped(numbers: tuple[int, ...], default: int) -> tuple[int, ...]:
        return tuple(
            default if position % window.rank in axes else number
            for position, number in enumerate(numbers)
        )

    return replace(
        window,
        taps=reset_dropped(window.taps, 1),
        strides=reset_dropped(window.strides, 1),
        padding=reset_dropped(window.padding, 0),
        dilation=reset_dropped(window.dilation, 1),
    )
