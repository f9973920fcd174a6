"""Windows that are reduced along one axis after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.tensors import shape_of
from tlf.dialects.graph.window import Window
from tlf.dialects.graph.windowed import WindowedOperation, window_properties
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import like, tensor_type

LEAST_GAIN = 2
"""
Minimum reduction factor in steps that pays for writing and reading intermediate
results.
"""


def by_axis(op: Operation) -> Iterator[Simplification]:
    """
    A maximum of windows is one along an axis of maxima along the others: for `k x k`
    elements `2 k` steps instead of `k^2`, where windows overlap.
    """
    assert isinstance(op, WindowedOperation)
    types = [tensor_type(value).element_type for value in (*op.operands, *op.results)]
    if len(types) != 2 or types[0] != types[1] or "acc" in op.properties:
        return
    images, window = shape_of(op.operands[0])[2:], op.window
    axes = [axis for axis, taps in enumerate(window.taps) if taps > 1]
    if len(axes) < 2:
        return
    first = min(axes, key=lambda axis: _steps(window, images, axis))
    extents = window.extents(shape_of(op.operands[0]))
    if _steps(window, images, first) * LEAST_GAIN > prod((*extents, *window.taps)):
        return
    text = "max(x of a window) = max(max(x of a row) of rows)"
    yield Simplification(text, lambda builder: _built(op, first, builder))


def _steps(window: Window, images: tuple[int, ...], first: int) -> int:
    """Elements combined for each channel, along one axis and then the others."""
    extents = window.extents((1, 1, *images))
    before = prod(images) // images[first] * extents[first] * window.taps[first]
    others = prod(taps for axis, taps in enumerate(window.taps) if axis != first)
    return before + prod(extents) * others


def _built(op: WindowedOperation, first: int, builder: Builder) -> SSAValue:
    """Maxima along an axis, then along the others."""
    others = {axis for axis in range(op.window.rank) if axis != first}
    value, result = op.operands[0], tensor_type(op.results[0])
    for dropped in (others, {first}):
        window = _without(op.window, dropped)
        shape = op.pooled_shape(shape_of(value), window)
        type_ = result if dropped == {first} else like(result, shape)
        made = type(op).create(
            operands=[value],
            result_types=[type_],
            properties={**op.properties, **window_properties(window)},
        )
        value = builder.insert(made).results[0]
    return value


def _without(window: Window, axes: set[int]) -> Window:
    """The window of one element along some axes."""

    def changed(numbers: tuple[int, ...], default: int) -> tuple[int, ...]:
        return tuple(
            default if place % window.rank in axes else number
            for place, number in enumerate(numbers)
        )

    return replace(
        window,
        taps=changed(window.taps, 1),
        strides=changed(window.strides, 1),
        padding=changed(window.padding, 0),
        dilation=changed(window.dilation, 1),
    )
