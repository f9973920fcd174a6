"""
Import of ATen maximum and average pooling from PyTorch: converters of FX calls, which
build operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.graph.weighted_sums import build_weighted_sums
from tlf.dialects.interfaces import Array
from tlf.dialects.types import dtype_of, is_float
from tlf.frontend.torch.aten.max_pool_indices import emit_max_pool_indices
from tlf.frontend.torch.aten.sliding_windows import SlidingWindows, broadcast_to_axes
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import Converter, register_as_converter

Sizes = Sequence[int] | int


def _make_sliding_windows(
    rank: int, taps: Sizes, strides: Sizes, padding: Sizes, dilation: Sizes
) -> SlidingWindows:
    """Return windows over `rank` axes; without `strides`, they are adjacent."""
    sizes = broadcast_to_axes(taps, rank)
    steps = broadcast_to_axes(strides, rank) if strides else sizes
    return SlidingWindows(
        sizes,
        steps,
        broadcast_to_axes(padding, rank),
        broadcast_to_axes(dilation, rank),
    )


def _make_max_pool_converter(rank: int) -> Converter:
    """Return a converter to maxima of windows over `rank` axes, and their indices."""

    def convert(
        emitter: Emitter,
        x: SSAValue,
        taps: Sizes,
        strides: Sizes = (),
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> tuple[SSAValue | None, ...]:
        windows = _make_sliding_windows(rank, taps, strides, padding, dilation)
        return _emit_max_pool(emitter, x, windows), *emit_max_pool_indices(
            emitter, x, windows
        )

    return convert


def _emit_max_pool(emitter: Emitter, x: SSAValue, windows: SlidingWindows) -> SSAValue:
    """Emit a maximum pooling, with high padding as the shape of the result requires."""
    rank = len(windows.taps)
    kind = graph.MaxPool3dOp if rank == 3 else graph.MaxPool2dOp
    padding = (
        *windows.low_padding,
        *windows.high_padding(shape_of(x)[-rank:], emitter.result_shape[-rank:]),
    )
    result = emitter.emit(
        kind(
            _add_batch_axis(emitter, x, rank),
            windows.taps,
            windows.strides,
            padding,
            windows.dilation,
        )
    )
    return emitter.reshape(result, emitter.result_shape)


def _add_batch_axis(emitter: Emitter, x: SSAValue, rank: int) -> SSAValue:
    """Reshape images to N x C x axes; a single image gets an axis N."""
    is_single = len(shape_of(x)) == rank + 1
    return emitter.reshape(x, (1, *shape_of(x))) if is_single else x


def _emit_window_sums(
    emitter: Emitter, x: SSAValue, windows: SlidingWindows
) -> SSAValue:
    """
    Emit the sums of gathered windows, for any number of axes and windows out of bounds.
    """
    rank = len(windows.taps)
    gathered = windows.gather_window_elements(
        emitter, emitter.cast(x, emitter.wide_element), emitter.result_shape[-rank:], 0
    )
    first = len(shape_of(gathered)) - 2 * rank
    return emitter.reduce(gathered, "sum", range(first, first + rank))


for _name, _rank in (
    ("max_pool2d_with_indices.default", 2),
    ("max_pool3d_with_indices.default", 3),
):
    register_as_converter(_name)(_make_max_pool_converter(_rank))


def _make_avg_pool_converter(rank: int) -> Converter:
    """
    Return a converter to means of windows over `rank` axes: by a pooling operation, or
    by gathered sums for rounded-up sizes, integers, one axis and other divisors.
    """

    def convert(
        emitter: Emitter,
        x: SSAValue,
        taps: Sizes,
        strides: Sizes = (),
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> SSAValue:
        windows = _make_sliding_windows(rank, taps, strides, padding, 1)
        if divisor_override is not None:
            total = _emit_window_sums(emitter, x, windows)
            return emitter.to_result(
                emitter.div(total, divisor_override, emitter.wide_element)
            )
        if rank > 1 and not ceil_mode and is_float(emitter.result_element):
            return _emit_avg_pool(emitter, x, windows, not count_include_pad)
        total = _emit_window_sums(emitter, x, windows)
        extents = shape_of(x)[-rank:]
        counts = _count_elements_per_window(
            windows, extents, emitter.result_shape[-rank:], count_include_pad
        )
        divisors = emitter.emit_constant(
            counts.astype(dtype_of(emitter.wide_element)), emitter.wide_element
        )
        return emitter.to_result(emitter.div(total, divisors, emitter.wide_element))

    return convert


def _emit_avg_pool(
    emitter: Emitter, x: SSAValue, windows: SlidingWindows, excludes_padding: bool
) -> SSAValue:
    """Emit an `AvgPool2dOp` or `AvgPool3dOp`, with equal padding on both sides."""
    rank = len(windows.taps)
    kind = graph.AvgPool3dOp if rank == 3 else graph.AvgPool2dOp
    padding = (*windows.low_padding, *windows.low_padding)
    images = _add_batch_axis(emitter, x, rank)
    pool = kind(
        images, windows.taps, windows.strides, padding, exclude_padding=excludes_padding
    )
    return emitter.reshape(emitter.emit(pool), emitter.result_shape)


for _rank in (1, 2, 3):
    register_as_converter(f"avg_pool{_rank}d.default")(_make_avg_pool_converter(_rank))


def _count_elements_per_window(
    windows: SlidingWindows,
    extents: Sequence[int],
    window_counts: Sequence[int],
    includes_padding: bool,
) -> Array:
    """
    Return the number of elements of each window, including padding if
    `includes_padding`.
    """
    result = np.ones((), np.float64)
    for axis, (extent, count) in enumerate(zip(extents, window_counts, strict=True)):
        margin = windows.low_padding[axis] if includes_padding else 0
        starts = np.arange(count) * windows.strides[axis] - windows.low_padding[axis]
        ends = np.minimum(starts + windows.taps[axis], extent + margin)
        inside = ends - np.maximum(starts, -margin)
        result = np.multiply.outer(result, inside)
    return result


def _make_adaptive_avg_pool_converter(rank: int) -> Converter:
    """Return a converter that averages along the last `rank` axes, one by one."""

    def convert(emitter: Emitter, x: SSAValue, output_sizes: Sizes) -> SSAValue:
        value = emitter.cast(x, emitter.wide_element)
        first = len(shape_of(x)) - rank
        for axis in range(rank):
            value = _emit_adaptive_means(
                emitter, value, first + axis, emitter.result_shape[first + axis]
            )
        return emitter.to_result(value)

    return convert


for _name, _rank in (
    ("adaptive_avg_pool1d.default", 1),
    ("_adaptive_avg_pool2d.default", 2),
    ("adaptive_avg_pool2d.default", 2),
    ("_adaptive_avg_pool3d.default", 3),
    ("adaptive_avg_pool3d.default", 3),
):
    register_as_converter(_name)(_make_adaptive_avg_pool_converter(_rank))


def adaptive_window_ranges(extent: int, window_count: int) -> list[tuple[int, int]]:
    """Return the range `[first, last + 1)` of each window of an adaptive pooling."""
    return [
        (index * extent // window_count, -((-(index + 1) * extent) // window_count))
        for index in range(window_count)
    ]


def _emit_adaptive_means(
    emitter: Emitter, x: SSAValue, axis: int, window_count: int
) -> SSAValue:
    """
    Emit the means of `window_count` windows of an axis: by a reshape if they are equal,
    else by weighted sums.
    """
    shape = shape_of(x)
    extent = shape[axis]
    if extent == window_count:
        return x
    if extent % window_count == 0:
        split = (
            *shape[:axis],
            window_count,
            extent // window_count,
            *shape[axis + 1 :],
        )
        return emitter.emit(graph.MeanOp(emitter.reshape(x, split), [axis + 1], False))
    weights = np.zeros((window_count, extent))
    for index, (start, stop) in enumerate(adaptive_window_ranges(extent, window_count)):
        weights[index, start:stop] = 1 / (stop - start)
    return build_weighted_sums(emitter.emit, x, axis, weights)


@register_as_converter("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def _convert_adaptive_max_pool(
    emitter: Emitter, x: SSAValue, output_sizes: Sequence[int]
) -> tuple[SSAValue | None, ...]:
    """Emit maxima and indices of equal windows. Raises `Unsupported` for others."""
    extents = shape_of(x)[-len(output_sizes) :]
    for extent, count in zip(extents, output_sizes, strict=True):
        if extent % count:
            raise Unsupported(
                f"expected windows of one size, got {count} of {extent} elements"
            )
    rank = len(output_sizes)
    taps = tuple(a // b for a, b in zip(extents, output_sizes, strict=True))
    windows = SlidingWindows(taps, taps, (0,) * rank, (1,) * rank)
    return _emit_equal_window_maxima(emitter, x, output_sizes), *emit_max_pool_indices(
        emitter, x, windows
    )


def _emit_equal_window_maxima(
    emitter: Emitter, x: SSAValue, output_sizes: Sequence[int]
) -> SSAValue:
    """Emit the maxima of equal windows, each of which is split off into an axis."""
    first = len(shape_of(x)) - len(output_sizes)
    for axis, count in enumerate(output_sizes, first):
        shape = shape_of(x)
        split = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
        x = emitter.reduce(emitter.reshape(x, split), "max", [axis + 1])
    return x
