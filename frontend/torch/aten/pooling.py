"""Import of ATen maximum and average pooling as graph operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.interfaces import Array
from tlf.dialects.types import dtype_of, is_float
from tlf.frontend.torch.aten.max_pool_indices import index_of_maximum
from tlf.frontend.torch.aten.sliding_windows import SlidingWindows, per_axis
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import Converter, converts

Sizes = Sequence[int] | int


def _make_windows(
    rank: int, taps: Sizes, strides: Sizes, padding: Sizes, dilation: Sizes
) -> SlidingWindows:
    sizes = per_axis(taps, rank)
    steps = per_axis(strides, rank) if strides else sizes
    return SlidingWindows(
        sizes, steps, per_axis(padding, rank), per_axis(dilation, rank)
    )


def _make_max_pool(rank: int) -> Converter:
    def convert(
        at: Emitter,
        x: SSAValue,
        taps: Sizes,
        strides: Sizes = (),
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> tuple[SSAValue | None, ...]:
        windows = _make_windows(rank, taps, strides, padding, dilation)
        return _emit_max_pool(at, x, windows), *index_of_maximum(at, x, windows)

    return convert


def _emit_max_pool(at: Emitter, x: SSAValue, windows: SlidingWindows) -> SSAValue:
    rank = len(windows.taps)
    kind = graph.MaxPool3dOp if rank == 3 else graph.MaxPool2dOp
    padding = (
        *windows.low,
        *windows.high_padding(shape_of(x)[-rank:], at.shape[-rank:]),
    )
    result = at.emit(
        kind(
            _with_batch_axis(at, x, rank),
            windows.taps,
            windows.strides,
            padding,
            windows.dilation,
        )
    )
    return at.reshape(result, at.shape)


def _with_batch_axis(at: Emitter, x: SSAValue, rank: int) -> SSAValue:
    """Reshape images to N x C x axes; a single image gets an axis N."""
    is_single = len(shape_of(x)) == rank + 1
    return at.reshape(x, (1, *shape_of(x))) if is_single else x


def _sum_windows(at: Emitter, x: SSAValue, windows: SlidingWindows) -> SSAValue:
    """
    Emit the sums of gathered windows, for any number of axes and windows out of bounds.
    """
    rank = len(windows.taps)
    gathered = windows.gather_elements(at, at.cast(x, at.wide), at.shape[-rank:], 0)
    first = len(shape_of(gathered)) - 2 * rank
    return at.reduce(gathered, "sum", range(first, first + rank))


for _name, _rank in (
    ("max_pool2d_with_indices.default", 2),
    ("max_pool3d_with_indices.default", 3),
):
    converts(_name)(_make_max_pool(_rank))


def _make_avg_pool(rank: int) -> Converter:
    def convert(
        at: Emitter,
        x: SSAValue,
        taps: Sizes,
        strides: Sizes = (),
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> SSAValue:
        windows = _make_windows(rank, taps, strides, padding, 1)
        if divisor_override is not None:
            total = _sum_windows(at, x, windows)
            return at.to_result(at.div(total, divisor_override, at.wide))
        if rank > 1 and not ceil_mode and is_float(at.element):
            return _emit_avg_pool(at, x, windows, not count_include_pad)
        total = _sum_windows(at, x, windows)
        extents = shape_of(x)[-rank:]
        counts = _elements_per_window(
            windows, extents, at.shape[-rank:], count_include_pad
        )
        divisors = at.constant(counts.astype(dtype_of(at.wide)), at.wide)
        return at.to_result(at.div(total, divisors, at.wide))

    return convert


def _emit_avg_pool(
    at: Emitter, x: SSAValue, windows: SlidingWindows, excluded: bool
) -> SSAValue:
    rank = len(windows.taps)
    kind = graph.AvgPool3dOp if rank == 3 else graph.AvgPool2dOp
    padding = (*windows.low, *windows.low)
    images = _with_batch_axis(at, x, rank)
    pool = kind(
        images, windows.taps, windows.strides, padding, exclude_padding=excluded
    )
    return at.reshape(at.emit(pool), at.shape)


for _rank in (1, 2, 3):
    converts(f"avg_pool{_rank}d.default")(_make_avg_pool(_rank))


def _elements_per_window(
    windows: SlidingWindows, extents: Sequence[int], counts: Sequence[int], padded: bool
) -> Array:
    """Return the number of elements of each window, including padding if `padded`."""
    result = np.ones((), np.float64)
    for axis, (extent, count) in enumerate(zip(extents, counts, strict=True)):
        margin = windows.low[axis] if padded else 0
        starts = np.arange(count) * windows.strides[axis] - windows.low[axis]
        ends = np.minimum(starts + windows.taps[axis], extent + margin)
        inside = ends - np.maximum(starts, -margin)
        result = np.multiply.outer(result, inside)
    return result


def _make_adaptive_avg_pool(rank: int) -> Converter:
    def convert(at: Emitter, x: SSAValue, sizes: Sizes) -> SSAValue:
        value = at.cast(x, at.wide)
        first = len(shape_of(x)) - rank
        for axis in range(rank):
            value = _adapt_axis(at, value, first + axis, at.shape[first + axis])
        return at.to_result(value)

    return convert


for _name, _rank in (
    ("adaptive_avg_pool1d.default", 1),
    ("_adaptive_avg_pool2d.default", 2),
    ("adaptive_avg_pool2d.default", 2),
    ("_adaptive_avg_pool3d.default", 3),
    ("adaptive_avg_pool3d.default", 3),
):
    converts(_name)(_make_adaptive_avg_pool(_rank))


def adaptive_bounds(extent: int, count: int) -> list[tuple[int, int]]:
    """Return the range `[first, last + 1)` of each window of an adaptive pooling."""
    return [
        (index * extent // count, -((-(index + 1) * extent) // count))
        for index in range(count)
    ]


def _adapt_axis(at: Emitter, x: SSAValue, axis: int, count: int) -> SSAValue:
    """
    Emit the means of `count` windows of an axis: by a reshape if they are equal, else
    by weighted sums.
    """
    shape = shape_of(x)
    extent = shape[axis]
    if extent == count:
        return x
    if extent % count == 0:
        split = (*shape[:axis], count, extent // count, *shape[axis + 1 :])
        return at.emit(graph.MeanOp(at.reshape(x, split), [axis + 1], False))
    weights = np.zeros((count, extent))
    for index, (start, stop) in enumerate(adaptive_bounds(extent, count)):
        weights[index, start:stop] = 1 / (stop - start)
    return weighted_sums(at, x, axis, weights)


def weighted_sums(at: Emitter, x: SSAValue, axis: int, weights: Array) -> SSAValue:
    """Emit sums along an axis, one per row of `weights`, which is result x extent."""
    rank, element = len(shape_of(x)), element_of(x)
    matrix = at.constant(weights, element)
    axes = [AffineExpr.dimension(each) for each in range(rank + 1)]
    output_dim, input_dim = axes[rank], axes[axis]
    result = [output_dim if each == axis else axes[each] for each in range(rank)]
    maps = [
        AffineMap(rank + 1, 0, tuple(results))
        for results in (axes[:rank], [output_dim, input_dim], result)
    ]
    return at.emit(graph.ContractOp(x, matrix, maps))


@converts("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def _adaptive_max_pool(
    at: Emitter, x: SSAValue, sizes: Sequence[int]
) -> tuple[SSAValue | None, ...]:
    extents = shape_of(x)[-len(sizes) :]
    for extent, count in zip(extents, sizes, strict=True):
        if extent % count:
            raise Unsupported(
                f"expected windows of one size, got {count} of {extent} elements"
            )
    rank = len(sizes)
    taps = tuple(a // b for a, b in zip(extents, sizes, strict=True))
    windows = SlidingWindows(taps, taps, (0,) * rank, (1,) * rank)
    return _max_over_equal_runs(at, x, sizes), *index_of_maximum(at, x, windows)


def _max_over_equal_runs(at: Emitter, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """Emit the maxima of equal windows, each of which is split off into an axis."""
    first = len(shape_of(x)) - len(sizes)
    for axis, count in enumerate(sizes, first):
        shape = shape_of(x)
        split = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
        x = at.reduce(at.reshape(x, split), "max", [axis + 1])
    return x
