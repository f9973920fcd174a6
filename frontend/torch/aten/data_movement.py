"""Import of ATen views, copies, padding and repetition as graph operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import EMPTY_TENSOR, Emitter, Number
from tlf.frontend.torch.registry import converts


@converts(
    "view.default",
    "_unsafe_view.default",
    "reshape.default",
    "squeeze.default",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze.default",
)
def _view(at: Emitter, x: SSAValue, *arguments: Any) -> SSAValue:
    """Emit a reshape to the shape of the result."""
    return at.reshape(x, at.shape)


@converts(
    "alias.default",
    "clone.default",
    "contiguous.default",
    "detach.default",
    "lift_fresh_copy.default",
)
def _identity(at: Emitter, x: SSAValue, **options: object) -> SSAValue:
    return x


@converts("permute.default")
def _permute(at: Emitter, x: SSAValue, order: Sequence[int]) -> SSAValue:
    return at.permute(x, [axis % len(order) for axis in order])


@converts("t.default")
def _transpose_all(at: Emitter, x: SSAValue) -> SSAValue:
    return at.permute(x, [*reversed(range(len(shape_of(x))))])


@converts("transpose.int")
def _transpose(at: Emitter, x: SSAValue, first: int, second: int) -> SSAValue:
    order = list(range(len(shape_of(x))))
    if order:
        order[first], order[second] = order[second], order[first]
    return at.permute(x, order)


@converts("expand.default")
def _expand(at: Emitter, x: SSAValue, *arguments: Any, **options: object) -> SSAValue:
    return at.broadcast(x, at.shape)


@converts("repeat.default")
def _repeat(at: Emitter, x: SSAValue, repeats: Sequence[int]) -> SSAValue:
    """Emit a repetition: each axis is split in two, and the first is broadcast."""
    shape = shape_of(x)
    shape = (*[1] * (len(repeats) - len(shape)), *shape)
    split = [each for extent in shape for each in (1, extent)]
    wide = [each for pair in zip(repeats, shape, strict=True) for each in pair]
    repeated = at.broadcast(at.reshape(x, split), wide)
    return at.reshape(repeated, at.shape)


@converts("slice.Tensor")
def _slice(
    at: Emitter,
    x: SSAValue,
    axis: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    axis %= len(shape_of(x))
    first, last, by = slice(start, stop, step).indices(shape_of(x)[axis])
    return at.slice(x, axis, first, last, by)


@converts("select.int")
def _select(at: Emitter, x: SSAValue, axis: int, index: int) -> SSAValue:
    axis %= len(shape_of(x))
    index %= shape_of(x)[axis]
    return at.reshape(at.slice(x, axis, index, index + 1), at.shape)


@converts("split_with_sizes.default")
def _split(
    at: Emitter, x: SSAValue, sizes: Sequence[int], axis: int = 0
) -> tuple[SSAValue, ...]:
    parts: list[SSAValue] = []
    start = 0
    for size in sizes:
        parts.append(at.slice(x, axis % len(shape_of(x)), start, start + size))
        start += size
    return tuple(parts)


@converts("unbind.int")
def _unbind(at: Emitter, x: SSAValue, axis: int = 0) -> tuple[SSAValue, ...]:
    axis %= len(shape_of(x))
    return tuple(
        at.reshape(at.slice(x, axis, index, index + 1), at.shape)
        for index in range(shape_of(x)[axis])
    )


@converts("cat.default")
def _cat(at: Emitter, values: Sequence[SSAValue], axis: int = 0) -> SSAValue:
    filled = [value for value in values if value is not EMPTY_TENSOR]
    parts = [at.cast(value, at.element) for value in filled]
    return at.concat(parts, axis % len(at.shape))


@converts("flip.default")
def _flip(at: Emitter, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    shape = shape_of(x)
    rank = len(shape)
    map_results = [AffineExpr.dimension(axis) for axis in range(rank)]
    for axis in {axis % rank for axis in axes if rank}:
        last = AffineExpr.constant(shape[axis] - 1)
        map_results[axis] = map_results[axis] * -1 + last
    map_ = AffineMap(rank, 0, tuple(map_results))
    return at.emit(graph.UnfoldOp(x, map_, shape))


@converts("roll.default")
def _roll(
    at: Emitter, x: SSAValue, shifts: Sequence[int], axes: Sequence[int] = ()
) -> SSAValue:
    if not axes:
        flat = at.reshape(x, [_element_count(x)])
        return at.reshape(_roll_axis(at, flat, shifts[0], 0), at.shape)
    for shift, axis in zip(shifts, axes, strict=True):
        x = _roll_axis(at, x, shift, axis % len(at.shape))
    return x


def _roll_axis(at: Emitter, x: SSAValue, shift: int, axis: int) -> SSAValue:
    extent = shape_of(x)[axis]
    start = -shift % extent
    if start == 0:
        return x
    parts = [at.slice(x, axis, start, extent), at.slice(x, axis, 0, start)]
    return at.concat(parts, axis)


def _element_count(x: SSAValue) -> int:
    size = 1
    for extent in shape_of(x):
        size *= extent
    return size


@converts("constant_pad_nd.default")
def _constant_pad(
    at: Emitter, x: SSAValue, widths: Sequence[int], fill: Number = 0
) -> SSAValue:
    """Emit a padding; widths are pairs, from the last axis on."""
    rank = len(shape_of(x))
    low, high = [0] * rank, [0] * rank
    for position in range(len(widths) // 2):
        low[rank - 1 - position] = widths[2 * position]
        high[rank - 1 - position] = widths[2 * position + 1]
    return at.pad(x, low, high, fill)


@converts(
    "reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default"
)
def _reflection_pad(at: Emitter, x: SSAValue, widths: Sequence[int]) -> SSAValue:
    return _pad_by_slices(at, x, widths, border=1)


@converts(
    "replication_pad1d.default",
    "replication_pad2d.default",
    "replication_pad3d.default",
)
def _replication_pad(at: Emitter, x: SSAValue, widths: Sequence[int]) -> SSAValue:
    return _pad_by_slices(at, x, widths, border=0)


def _pad_by_slices(
    at: Emitter, x: SSAValue, widths: Sequence[int], *, border: int
) -> SSAValue:
    """
    Emit a padding by slices of the value: reflected if `border` is 1, the outermost
    slice repeated if it is 0. Negative widths crop.
    """
    for position in range(len(widths) // 2):
        axis = len(shape_of(x)) - 1 - position
        low, high = widths[2 * position : 2 * position + 2]
        last = shape_of(x)[axis] - 1
        inside = range(-low, last + 1 + high)
        clamped = [min(max(source, 0), last) for source in inside]
        sources = [
            inner + border * (inner - source)
            for inner, source in zip(clamped, inside, strict=True)
        ]
        runs = [at.slice(x, axis, *run) for run in _ascending_runs(sources)]
        x = at.concat(runs, axis)
    return x


def _ascending_runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Split indices into runs of consecutive indices, each as (first, last + 1)."""
    runs: list[tuple[int, int]] = []
    for index in places:
        if runs and runs[-1][1] == index:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs


@converts("diagonal.default")
def _diagonal(
    at: Emitter, x: SSAValue, offset: int = 0, first: int = 0, second: int = 1
) -> SSAValue:
    rank = len(shape_of(x))
    first, second = first % rank, second % rank
    dimensions = [AffineExpr.dimension(axis) for axis in range(rank - 1)]
    along = dimensions.pop()
    rows = along + AffineExpr.constant(max(-offset, 0))
    columns = along + AffineExpr.constant(max(offset, 0))
    chosen = {first: rows, second: columns}
    remaining = iter(dimensions)
    results = [chosen.get(axis) or next(remaining) for axis in range(rank)]
    map_ = AffineMap(rank - 1, 0, tuple(results))
    return at.emit(graph.UnfoldOp(x, map_, at.shape))


@converts("unfold.default")
def _unfold(at: Emitter, x: SSAValue, axis: int, size: int, step: int) -> SSAValue:
    """Emit the windows along an axis; their elements are along a new last axis."""
    rank = len(shape_of(x))
    if rank == 0:
        return at.reshape(x, at.shape)
    dimensions = [AffineExpr.dimension(each) for each in range(rank + 1)]
    inside = dimensions.pop()
    dimensions[axis % rank] = dimensions[axis % rank] * step + inside
    map_ = AffineMap(rank + 1, 0, tuple(dimensions))
    return at.emit(graph.UnfoldOp(x, map_, at.shape))


@converts("slice_scatter.default")
def _slice_scatter(
    at: Emitter,
    x: SSAValue,
    source: SSAValue,
    axis: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    axis %= len(shape_of(x))
    extent = shape_of(x)[axis]
    first, last, by = slice(start, stop, step).indices(extent)
    if last <= first:
        return x
    if by == 1:
        return _replace_slice(at, x, source, axis, first, last)
    position = 0
    for index in range(first, last, by):
        update = at.slice(source, axis, position, position + 1)
        x = _replace_slice(at, x, update, axis, index, index + 1)
        position += 1
    return x


def _replace_slice(
    at: Emitter, x: SSAValue, source: SSAValue, axis: int, first: int, last: int
) -> SSAValue:
    """Emit the value with the elements in `[first, last)` of an axis replaced."""
    extent = shape_of(x)[axis]
    parts = [at.slice(x, axis, 0, first)] if first else []
    parts.append(at.cast(source, at.element))
    parts += [at.slice(x, axis, last, extent)] if last < extent else []
    return at.concat(parts, axis)


@converts("select_scatter.default")
def _select_scatter(
    at: Emitter, x: SSAValue, source: SSAValue, axis: int, index: int
) -> SSAValue:
    shape = list(shape_of(x))
    axis %= len(shape)
    index %= shape[axis]
    shape[axis] = 1
    return _replace_slice(at, x, at.reshape(source, shape), axis, index, index + 1)


@converts("pixel_shuffle.default")
def _pixel_shuffle(at: Emitter, x: SSAValue, factor: int) -> SSAValue:
    *batch, channels, height, width = shape_of(x)
    outer = channels // factor**2
    parts = at.reshape(x, [*batch, outer, factor, factor, height, width])
    rank = len(batch)
    order = [*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2]
    return at.reshape(at.permute(parts, order), at.shape)


@converts("copy.default")
def _copy(
    at: Emitter, x: SSAValue, source: SSAValue, non_blocking: bool = False
) -> SSAValue:
    return at.to_result(source)
