"""Import of ATen gathers, scatters and other data-dependent indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import converts


def _wrap_negative(at: Emitter, indices: SSAValue, extent: int) -> SSAValue:
    """Emit non-negative indices; negative ones count from the end."""
    element = element_of(indices)
    indices = at.emit(graph.WithinOp(indices, -extent, extent - 1))
    is_negative = at.compare(indices, 0, "lt", element)
    return at.select(is_negative, at.add(indices, extent, element), indices, element)


@converts("embedding.default")
def _embedding(
    at: Emitter,
    table: SSAValue,
    indices: SSAValue,
    padding: int = -1,
    scale_by_frequency: bool = False,
    sparse: bool = False,
) -> SSAValue:
    return at.emit(graph.TakeOp(table, indices, 0))


@converts("index_select.default")
def _index_select(at: Emitter, x: SSAValue, axis: int, indices: SSAValue) -> SSAValue:
    if not shape_of(x):
        return at.reshape(x, at.shape)
    result = at.emit(graph.TakeOp(x, indices, axis % len(shape_of(x))))
    return at.reshape(result, at.shape)


@converts("gather.default")
def _gather(
    at: Emitter,
    x: SSAValue,
    axis: int,
    indices: SSAValue,
    *,
    sparse_grad: bool = False,
) -> SSAValue:
    if not shape_of(x):
        return at.reshape(x, at.shape)
    return at.emit(graph.GatherOp(x, indices, axis % len(shape_of(x))))


@converts("index.Tensor")
def _index(at: Emitter, x: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    """
    Emit a gather, with the indices of adjacent axes merged into one index of the merged
    axes. If the indexed axes are not adjacent, they become the first ones, as in numpy.
    """
    by_axis = {axis: each for axis, each in enumerate(indices) if each is not None}
    if any(element_of(each) == i1 for each in by_axis.values()):
        raise Unsupported("expected indices that are numbers, got a mask")
    axes = sorted(by_axis)
    first = axes[0]
    if axes[-1] - first + 1 != len(axes):
        remaining = [axis for axis in range(len(shape_of(x))) if axis not in by_axis]
        x = at.permute(x, [*axes, *remaining])
        by_axis = {position: by_axis[axis] for position, axis in enumerate(axes)}
        axes, first = list(range(len(axes))), 0
    shape = shape_of(x)
    extents = shape[first : first + len(axes)]
    position = _linearize_indices(at, [by_axis[axis] for axis in axes], extents)
    flat = (*shape[:first], math.prod(extents), *shape[first + len(axes) :])
    return at.emit(graph.TakeOp(at.reshape(x, flat), position, first))


def _linearize_indices(
    at: Emitter, indices: Sequence[SSAValue], extents: Sequence[int]
) -> SSAValue:
    """Emit the linear index of indices of several axes, in row-major order."""
    total: SSAValue | None = None
    for each, extent in zip(indices, extents, strict=True):
        position = _wrap_negative(at, at.cast(each, i64), extent)
        if total is not None:
            position = at.add(at.mul(total, extent, i64), position, i64)
        total = position
    assert total is not None
    return total


@converts("scatter.src", "scatter.value")
def _scatter(
    at: Emitter, x: SSAValue, axis: int, indices: SSAValue, source: Operand
) -> SSAValue:
    return _emit_scatter(at, x, axis, indices, source, "set")


@converts("scatter_add.default")
def _scatter_add(
    at: Emitter, x: SSAValue, axis: int, indices: SSAValue, source: SSAValue
) -> SSAValue:
    return _emit_scatter(at, x, axis, indices, source, "add")


def _emit_scatter(
    at: Emitter, x: SSAValue, axis: int, indices: SSAValue, source: Operand, kind: str
) -> SSAValue:
    if not shape_of(x):
        raise Unsupported("expected a tensor of 1 or more axes, got a scalar")
    updates = at.cast(source, at.element)
    shape = shape_of(indices)
    if isinstance(source, SSAValue):
        for each, extent in enumerate(shape):
            updates = at.slice(updates, each, 0, extent)
    else:
        updates = at.broadcast(updates, shape)
    axis %= len(shape_of(x))
    return _combine_updates(at, x, indices, updates, axis, kind)


_BOOL_COMBINERS = {"add": "max", "mul": "min"}
"""Combining operations of truth values that are equivalent to sum and product."""


def _combine_updates(
    at: Emitter,
    x: SSAValue,
    indices: SSAValue,
    updates: SSAValue,
    axis: int,
    kind: str,
) -> SSAValue:
    """Emit a scatter of updates; truth values are combined as numbers."""
    if at.element != i1 or kind == "set":
        return at.emit(graph.ScatterOp(x, indices, updates, axis, kind))
    numbers = [at.cast(each, i8) for each in (x, updates)]
    kind = _BOOL_COMBINERS.get(kind, kind)
    op = graph.ScatterOp(numbers[0], indices, numbers[1], axis, kind)
    return at.to_bool(at.emit(op))


REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
"""Combining operation of updates, by PyTorch's name."""


@converts("scatter_reduce.two")
def _scatter_reduce(
    at: Emitter,
    x: SSAValue,
    axis: int,
    indices: SSAValue,
    source: SSAValue,
    reduce: str,
    *,
    include_self: bool = True,
) -> SSAValue:
    if not include_self or reduce not in REDUCTIONS:
        listed = ", ".join(REDUCTIONS)
        raise Unsupported(f"expected a reduction ({listed}) that includes the tensor")
    return _emit_scatter(at, x, axis, indices, source, REDUCTIONS[reduce])


@converts("index_put.default")
def _index_put(
    at: Emitter,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
) -> SSAValue:
    """Emit a scatter of updates; the indexed axes must be adjacent, and are merged."""
    by_axis = {axis: each for axis, each in enumerate(indices) if each is not None}
    axes = sorted(by_axis)
    first, after = axes[0], axes[-1] + 1
    is_mask = any(element_of(each) == i1 for each in by_axis.values())
    if is_mask and axes == [0] and not accumulate:
        return _assign_masked(at, x, by_axis[0], values)
    if is_mask or after - first != len(axes):
        raise Unsupported("expected indices that are numbers, of neighbouring axes")
    shape = shape_of(x)
    before, extents, trailing = shape[:first], shape[first:after], shape[after:]
    position = _linearize_indices(at, [by_axis[axis] for axis in axes], extents)
    count, wide = (
        math.prod(shape_of(position)),
        (*before, *shape_of(position), *trailing),
    )
    updates = at.broadcast(at.cast(values, at.element), wide)
    column = at.reshape(position, (*[1] * first, count, *[1] * len(trailing)))
    scattered = _combine_updates(
        at,
        at.reshape(x, (*before, math.prod(extents), *trailing)),
        at.broadcast(column, (*before, count, *trailing)),
        at.reshape(updates, (*before, count, *trailing)),
        first,
        "add" if accumulate else "set",
    )
    return at.reshape(scattered, shape)


def _assign_masked(
    at: Emitter, x: SSAValue, mask: SSAValue, values: SSAValue
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
        values = at.reshape(values, shape[1:])
    chosen = at.reshape(mask, (*shape_of(mask), *[1] * len(trailing)))
    return at.to_result(at.select(chosen, values, x, at.element))
