"""
Import of ATen gathers, scatters and other data-dependent indexing from PyTorch:
converters of FX calls, which build operations of `graph`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import register_as_converter


def _wrap_negative_indices(
    emitter: Emitter, indices: SSAValue, extent: int
) -> SSAValue:
    """
    Emit `indices` plus `extent` where they are negative, and an assertion of the range
    from `-extent` to `extent - 1`.
    """
    element = element_type_of_value(indices)
    indices = emitter.emit(graph.WithinOp(indices, -extent, extent - 1))
    is_negative = emitter.compare(indices, 0, "lt", element)
    return emitter.select(
        is_negative, emitter.add(indices, extent, element), indices, element
    )


@register_as_converter("embedding.default")
def _convert_embedding(
    emitter: Emitter,
    table: SSAValue,
    indices: SSAValue,
    padding: int = -1,
    scale_by_frequency: bool = False,
    sparse: bool = False,
) -> SSAValue:
    return emitter.emit(graph.TakeOp(table, indices, 0))


@register_as_converter("index_select.default")
def _convert_index_select(
    emitter: Emitter, x: SSAValue, axis: int, indices: SSAValue
) -> SSAValue:
    """Emit a `TakeOp` of `indices` along `axis`; a scalar is only reshaped."""
    if not shape_of(x):
        return emitter.reshape(x, emitter.result_shape)
    result = emitter.emit(graph.TakeOp(x, indices, axis % len(shape_of(x))))
    return emitter.reshape(result, emitter.result_shape)


@register_as_converter("gather.default")
def _convert_gather(
    emitter: Emitter,
    x: SSAValue,
    axis: int,
    indices: SSAValue,
    *,
    sparse_grad: bool = False,
) -> SSAValue:
    if not shape_of(x):
        return emitter.reshape(x, emitter.result_shape)
    return emitter.emit(graph.GatherOp(x, indices, axis % len(shape_of(x))))


@register_as_converter("index.Tensor")
def _convert_index(
    emitter: Emitter, x: SSAValue, indices: Sequence[SSAValue | None]
) -> SSAValue:
    """
    Emit a gather, with the indices of adjacent axes merged into one index of the merged
    axes. If the indexed axes are not adjacent, they become the first ones, as in numpy.
    """
    by_axis = {axis: each for axis, each in enumerate(indices) if each is not None}
    if any(element_type_of_value(each) == i1 for each in by_axis.values()):
        raise Unsupported("expected indices that are numbers, got a mask")
    axes = sorted(by_axis)
    first = axes[0]
    if axes[-1] - first + 1 != len(axes):
        remaining = [axis for axis in range(len(shape_of(x))) if axis not in by_axis]
        x = emitter.permute(x, [*axes, *remaining])
        by_axis = {position: by_axis[axis] for position, axis in enumerate(axes)}
        axes, first = list(range(len(axes))), 0
    shape = shape_of(x)
    extents = shape[first : first + len(axes)]
    position = _emit_linear_indices(emitter, [by_axis[axis] for axis in axes], extents)
    flat = (*shape[:first], math.prod(extents), *shape[first + len(axes) :])
    return emitter.emit(graph.TakeOp(emitter.reshape(x, flat), position, first))


def _emit_linear_indices(
    emitter: Emitter, indices: Sequence[SSAValue], extents: Sequence[int]
) -> SSAValue:
    """Emit the linear index of indices of several axes, in row-major order."""
    total: SSAValue | None = None
    for each, extent in zip(indices, extents, strict=True):
        position = _wrap_negative_indices(emitter, emitter.cast(each, i64), extent)
        if total is not None:
            position = emitter.add(emitter.mul(total, extent, i64), position, i64)
        total = position
    assert total is not None
    return total


@register_as_converter("scatter.src", "scatter.value")
def _convert_scatter(
    emitter: Emitter, x: SSAValue, axis: int, indices: SSAValue, source: Operand
) -> SSAValue:
    return _scatter_source(emitter, x, axis, indices, source, "set")


@register_as_converter("scatter_add.default")
def _convert_scatter_add(
    emitter: Emitter, x: SSAValue, axis: int, indices: SSAValue, source: SSAValue
) -> SSAValue:
    return _scatter_source(emitter, x, axis, indices, source, "add")


def _scatter_source(
    emitter: Emitter,
    x: SSAValue,
    axis: int,
    indices: SSAValue,
    source: Operand,
    combiner: str,
) -> SSAValue:
    """
    Emit a scatter of `source`, sliced or broadcast to the shape of `indices`. Raises
    `Unsupported` if `x` is a scalar.
    """
    if not shape_of(x):
        raise Unsupported("expected a tensor of 1 or more axes, got a scalar")
    updates = emitter.cast(source, emitter.result_element)
    shape = shape_of(indices)
    if isinstance(source, SSAValue):
        for each, extent in enumerate(shape):
            updates = emitter.slice(updates, each, 0, extent)
    else:
        updates = emitter.broadcast(updates, shape)
    axis %= len(shape_of(x))
    return _scatter_updates(emitter, x, indices, updates, axis, combiner)


_BOOL_COMBINERS = {"add": "max", "mul": "min"}
"""Combining operations of truth values that are equivalent to sum and product."""


def _scatter_updates(
    emitter: Emitter,
    x: SSAValue,
    indices: SSAValue,
    updates: SSAValue,
    axis: int,
    combiner: str,
) -> SSAValue:
    """Emit a scatter of updates; truth values are combined as numbers."""
    if emitter.result_element != i1 or combiner == "set":
        return emitter.emit(graph.ScatterOp(x, indices, updates, axis, combiner))
    numbers = [emitter.cast(each, i8) for each in (x, updates)]
    combiner = _BOOL_COMBINERS.get(combiner, combiner)
    op = graph.ScatterOp(numbers[0], indices, numbers[1], axis, combiner)
    return emitter.to_bool(emitter.emit(op))


REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
"""Combining operation of updates, by PyTorch's name."""


@register_as_converter("scatter_reduce.two")
def _convert_scatter_reduce(
    emitter: Emitter,
    x: SSAValue,
    axis: int,
    indices: SSAValue,
    source: SSAValue,
    reduce: str,
    *,
    include_self: bool = True,
) -> SSAValue:
    """
    Emit a scatter that combines by `reduce`. Raises `Unsupported` if it is not among
    `REDUCTIONS`, or leaves out the elements of `x`.
    """
    if not include_self or reduce not in REDUCTIONS:
        listed = ", ".join(REDUCTIONS)
        raise Unsupported(f"expected a reduction ({listed}) that includes the tensor")
    return _scatter_source(emitter, x, axis, indices, source, REDUCTIONS[reduce])


@register_as_converter("index_put.default")
def _convert_index_put(
    emitter: Emitter,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
) -> SSAValue:
    """Emit a scatter of updates; the indexed axes must be adjacent, and are merged."""
    by_axis = {axis: each for axis, each in enumerate(indices) if each is not None}
    axes = sorted(by_axis)
    first, after = axes[0], axes[-1] + 1
    is_mask = any(element_type_of_value(each) == i1 for each in by_axis.values())
    if is_mask and axes == [0] and not accumulate:
        return _assign_where_masked(emitter, x, by_axis[0], values)
    if is_mask or after - first != len(axes):
        raise Unsupported("expected indices that are numbers, of neighbouring axes")
    shape = shape_of(x)
    before, extents, trailing = shape[:first], shape[first:after], shape[after:]
    position = _emit_linear_indices(emitter, [by_axis[axis] for axis in axes], extents)
    count, wide = (
        math.prod(shape_of(position)),
        (*before, *shape_of(position), *trailing),
    )
    updates = emitter.broadcast(emitter.cast(values, emitter.result_element), wide)
    column = emitter.reshape(position, (*[1] * first, count, *[1] * len(trailing)))
    scattered = _scatter_updates(
        emitter,
        emitter.reshape(x, (*before, math.prod(extents), *trailing)),
        emitter.broadcast(column, (*before, count, *trailing)),
        emitter.reshape(updates, (*before, count, *trailing)),
        first,
        "add" if accumulate else "set",
    )
    return emitter.reshape(scattered, shape)


def _assign_where_masked(
    emitter: Emitter, x: SSAValue, mask: SSAValue, values: SSAValue
) -> SSAValue:
    """
    Emit the assignment of one value to all elements where a mask over the first axes is
    true.
    """
    trailing = shape_of(x)[len(shape_of(mask)) :]
    shape = shape_of(values)
    if len(shape) > len(trailing):
        if shape[0] != 1:
            raise Unsupported("expected one value for all places of a mask")
        values = emitter.reshape(values, shape[1:])
    chosen = emitter.reshape(mask, (*shape_of(mask), *[1] * len(trailing)))
    return emitter.to_result(emitter.select(chosen, values, x, emitter.result_element))
