"""
Import of ATen views, copies, padding and repetition from PyTorch: converters of FX
calls, which build operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import EMPTY_TENSOR, Emitter, Number
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter(
    "view.default",
    "_unsafe_view.default",
    "reshape.default",
    "squeeze.default",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze.default",
)
def _convert_view(emitter: Emitter, x: SSAValue, *arguments: Any) -> SSAValue:
    """Emit a reshape to the shape of the result."""
    return emitter.reshape(x, emitter.result_shape)


@register_as_converter(
    "alias.default",
    "clone.default",
    "contiguous.default",
    "detach.default",
    "lift_fresh_copy.default",
)
def _convert_to_operand(emitter: Emitter, x: SSAValue, **options: object) -> SSAValue:
    return x


@register_as_converter("permute.default")
def _convert_permute(emitter: Emitter, x: SSAValue, order: Sequence[int]) -> SSAValue:
    return emitter.permute(x, [axis % len(order) for axis in order])


@register_as_converter("t.default")
def _convert_matrix_transpose(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.permute(x, [*reversed(range(len(shape_of(x))))])


@register_as_converter("transpose.int")
def _convert_transpose(
    emitter: Emitter, x: SSAValue, first_axis: int, second_axis: int
) -> SSAValue:
    """Emit a permutation that swaps two axes; it is the identity for a scalar."""
    order = list(range(len(shape_of(x))))
    if order:
        order[first_axis], order[second_axis] = order[second_axis], order[first_axis]
    return emitter.permute(x, order)


@register_as_converter("expand.default")
def _convert_expand(
    emitter: Emitter, x: SSAValue, *arguments: Any, **options: object
) -> SSAValue:
    return emitter.broadcast(x, emitter.result_shape)


@register_as_converter("repeat.default")
def _convert_repeat(emitter: Emitter, x: SSAValue, repeats: Sequence[int]) -> SSAValue:
    """Emit a repetition: each axis is split in two, and the first is broadcast."""
    shape = shape_of(x)
    shape = (*[1] * (len(repeats) - len(shape)), *shape)
    split = [each for extent in shape for each in (1, extent)]
    wide = [each for pair in zip(repeats, shape, strict=True) for each in pair]
    repeated = emitter.broadcast(emitter.reshape(x, split), wide)
    return emitter.reshape(repeated, emitter.result_shape)


@register_as_converter("slice.Tensor")
def _convert_slice(
    emitter: Emitter,
    x: SSAValue,
    axis: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    axis %= len(shape_of(x))
    first, last, by = slice(start, stop, step).indices(shape_of(x)[axis])
    return emitter.slice(x, axis, first, last, by)


@register_as_converter("select.int")
def _convert_select(emitter: Emitter, x: SSAValue, axis: int, index: int) -> SSAValue:
    """Emit the slice of `x` at `index` along `axis`, without that axis."""
    axis %= len(shape_of(x))
    index %= shape_of(x)[axis]
    return emitter.reshape(
        emitter.slice(x, axis, index, index + 1), emitter.result_shape
    )


@register_as_converter("split_with_sizes.default")
def _convert_split(
    emitter: Emitter, x: SSAValue, sizes: Sequence[int], axis: int = 0
) -> tuple[SSAValue, ...]:
    """Emit adjacent slices of `x` with the given `sizes` along `axis`."""
    parts: list[SSAValue] = []
    start = 0
    for size in sizes:
        parts.append(emitter.slice(x, axis % len(shape_of(x)), start, start + size))
        start += size
    return tuple(parts)


@register_as_converter("unbind.int")
def _convert_unbind(
    emitter: Emitter, x: SSAValue, axis: int = 0
) -> tuple[SSAValue, ...]:
    """Emit the slice at each index of `axis`, without that axis."""
    axis %= len(shape_of(x))
    return tuple(
        emitter.reshape(emitter.slice(x, axis, index, index + 1), emitter.result_shape)
        for index in range(shape_of(x)[axis])
    )


@register_as_converter("cat.default")
def _convert_cat(
    emitter: Emitter, values: Sequence[SSAValue], axis: int = 0
) -> SSAValue:
    filled = [value for value in values if value is not EMPTY_TENSOR]
    parts = [emitter.cast(value, emitter.result_element) for value in filled]
    return emitter.concat(parts, axis % len(emitter.result_shape))


@register_as_converter("flip.default")
def _convert_flip(emitter: Emitter, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Emit an unfold whose affine map reverses the given axes."""
    shape = shape_of(x)
    rank = len(shape)
    map_results = [AffineExpr.dimension(axis) for axis in range(rank)]
    for axis in {axis % rank for axis in axes if rank}:
        last = AffineExpr.constant(shape[axis] - 1)
        map_results[axis] = map_results[axis] * -1 + last
    map_ = AffineMap(rank, 0, tuple(map_results))
    return emitter.emit(graph.UnfoldOp(x, map_, shape))


@register_as_converter("roll.default")
def _convert_roll(
    emitter: Emitter, x: SSAValue, shifts: Sequence[int], axes: Sequence[int] = ()
) -> SSAValue:
    """Emit cyclic shifts along `axes`; without axes, a shift of the flat tensor."""
    if not axes:
        flat = emitter.reshape(x, [_element_count_of(x)])
        return emitter.reshape(
            _roll_along_axis(emitter, flat, shifts[0], 0), emitter.result_shape
        )
    for shift, axis in zip(shifts, axes, strict=True):
        x = _roll_along_axis(emitter, x, shift, axis % len(emitter.result_shape))
    return x


def _roll_along_axis(emitter: Emitter, x: SSAValue, shift: int, axis: int) -> SSAValue:
    """Emit `x` with its last `shift` slices along `axis` moved to the front."""
    extent = shape_of(x)[axis]
    start = -shift % extent
    if start == 0:
        return x
    parts = [emitter.slice(x, axis, start, extent), emitter.slice(x, axis, 0, start)]
    return emitter.concat(parts, axis)


def _element_count_of(x: SSAValue) -> int:
    size = 1
    for extent in shape_of(x):
        size *= extent
    return size


@register_as_converter("constant_pad_nd.default")
def _convert_constant_pad(
    emitter: Emitter, x: SSAValue, widths: Sequence[int], fill: Number = 0
) -> SSAValue:
    """Emit a padding; `widths` are pairs (low, high) per axis, the last axis first."""
    rank = len(shape_of(x))
    low, high = [0] * rank, [0] * rank
    for position in range(len(widths) // 2):
        low[rank - 1 - position] = widths[2 * position]
        high[rank - 1 - position] = widths[2 * position + 1]
    return emitter.pad(x, low, high, fill)


@register_as_converter(
    "reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default"
)
def _convert_reflection_pad(
    emitter: Emitter, x: SSAValue, widths: Sequence[int]
) -> SSAValue:
    return _pad_by_slices(emitter, x, widths, mirror_factor=1)


@register_as_converter(
    "replication_pad1d.default",
    "replication_pad2d.default",
    "replication_pad3d.default",
)
def _convert_replication_pad(
    emitter: Emitter, x: SSAValue, widths: Sequence[int]
) -> SSAValue:
    return _pad_by_slices(emitter, x, widths, mirror_factor=0)


def _pad_by_slices(
    emitter: Emitter, x: SSAValue, widths: Sequence[int], *, mirror_factor: int
) -> SSAValue:
    """
    Emit a padding by slices of the value: reflected if `mirror_factor` is 1, the
    outermost slice repeated if it is 0. Negative widths crop.
    """
    for position in range(len(widths) // 2):
        axis = len(shape_of(x)) - 1 - position
        low, high = widths[2 * position : 2 * position + 2]
        last = shape_of(x)[axis] - 1
        inside = range(-low, last + 1 + high)
        clamped = [min(max(source, 0), last) for source in inside]
        sources = [
            inner + mirror_factor * (inner - source)
            for inner, source in zip(clamped, inside, strict=True)
        ]
        runs = [
            emitter.slice(x, axis, *run)
            for run in _split_into_consecutive_runs(sources)
        ]
        x = emitter.concat(runs, axis)
    return x


def _split_into_consecutive_runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Split indices into runs of consecutive indices, each as (first, last + 1)."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and runs[-1][1] == index:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs


@register_as_converter("diagonal.default")
def _convert_diagonal(
    emitter: Emitter,
    x: SSAValue,
    offset: int = 0,
    first_axis: int = 0,
    second_axis: int = 1,
) -> SSAValue:
    """Emit an unfold that reads the diagonal of two axes into a new last axis."""
    rank = len(shape_of(x))
    first_axis, second_axis = first_axis % rank, second_axis % rank
    dimensions = [AffineExpr.dimension(axis) for axis in range(rank - 1)]
    along = dimensions.pop()
    rows = along + AffineExpr.constant(max(-offset, 0))
    columns = along + AffineExpr.constant(max(offset, 0))
    chosen = {first_axis: rows, second_axis: columns}
    remaining = iter(dimensions)
    results = [chosen.get(axis) or next(remaining) for axis in range(rank)]
    map_ = AffineMap(rank - 1, 0, tuple(results))
    return emitter.emit(graph.UnfoldOp(x, map_, emitter.result_shape))


@register_as_converter("unfold.default")
def _convert_unfold(
    emitter: Emitter, x: SSAValue, axis: int, size: int, step: int
) -> SSAValue:
    """Emit the windows along an axis; their elements are along a new last axis."""
    rank = len(shape_of(x))
    if rank == 0:
        return emitter.reshape(x, emitter.result_shape)
    dimensions = [AffineExpr.dimension(each) for each in range(rank + 1)]
    inside = dimensions.pop()
    dimensions[axis % rank] = dimensions[axis % rank] * step + inside
    map_ = AffineMap(rank + 1, 0, tuple(dimensions))
    return emitter.emit(graph.UnfoldOp(x, map_, emitter.result_shape))


@register_as_converter("slice_scatter.default")
def _convert_slice_scatter(
    emitter: Emitter,
    x: SSAValue,
    source: SSAValue,
    axis: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    """
    Emit `x` with a slice replaced by `source`, index by index if `step` exceeds 1.
    """
    axis %= len(shape_of(x))
    extent = shape_of(x)[axis]
    first, last, by = slice(start, stop, step).indices(extent)
    if last <= first:
        return x
    if by == 1:
        return _replace_slice(emitter, x, source, axis, first, last)
    position = 0
    for index in range(first, last, by):
        update = emitter.slice(source, axis, position, position + 1)
        x = _replace_slice(emitter, x, update, axis, index, index + 1)
        position += 1
    return x


def _replace_slice(
    emitter: Emitter, x: SSAValue, source: SSAValue, axis: int, start: int, stop: int
) -> SSAValue:
    """Emit the value with the elements in `[first, last)` of an axis replaced."""
    extent = shape_of(x)[axis]
    parts = [emitter.slice(x, axis, 0, start)] if start else []
    parts.append(emitter.cast(source, emitter.result_element))
    parts += [emitter.slice(x, axis, stop, extent)] if stop < extent else []
    return emitter.concat(parts, axis)


@register_as_converter("select_scatter.default")
def _convert_select_scatter(
    emitter: Emitter, x: SSAValue, source: SSAValue, axis: int, index: int
) -> SSAValue:
    """Emit `x` with its slice at `index` along `axis` replaced by `source`."""
    shape = list(shape_of(x))
    axis %= len(shape)
    index %= shape[axis]
    shape[axis] = 1
    return _replace_slice(
        emitter, x, emitter.reshape(source, shape), axis, index, index + 1
    )


@register_as_converter("pixel_shuffle.default")
def _convert_pixel_shuffle(emitter: Emitter, x: SSAValue, factor: int) -> SSAValue:
    """
    Emit a permutation that turns `factor**2` channels into `factor` x `factor` pixels.
    """
    *batch, channels, height, width = shape_of(x)
    outer = channels // factor**2
    parts = emitter.reshape(x, [*batch, outer, factor, factor, height, width])
    rank = len(batch)
    order = [*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2]
    return emitter.reshape(emitter.permute(parts, order), emitter.result_shape)


@register_as_converter("copy.default")
def _convert_copy(
    emitter: Emitter, x: SSAValue, source: SSAValue, non_blocking: bool = False
) -> SSAValue:
    return emitter.to_result(source)
