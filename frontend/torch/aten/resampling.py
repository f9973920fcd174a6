"""
Import of ATen nearest and linear resampling of images from PyTorch: converters of FX
calls, which build operations of `graph`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import Array
from tlf.dialects.types import dtype_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import Converter, register_as_converter


def _scale_factors_per_axis(scale_arguments: Any, rank: int) -> list[float | None]:
    """
    Return the scale factors of a call, one per axis; `None` if they are not given.
    """
    factors: list[Any] = [each for each in scale_arguments if each is not None]
    if factors and not isinstance(factors[0], float | int):
        factors = list(factors[0])
    return factors if len(factors) == rank else [None] * rank


def _resampled_axes(x: SSAValue) -> range:
    return range(2, len(shape_of(x)))


def _make_nearest_converter(*, samples_centres: bool) -> Converter:
    """
    Return a converter to nearest resampling; the position of an element is its centre
    if `samples_centres`, else its left edge.
    """

    def convert(emitter: Emitter, x: SSAValue, sizes: Any, *scales: Any) -> SSAValue:
        axes = _resampled_axes(x)
        for axis, factor in zip(
            axes, _scale_factors_per_axis(scales, len(axes)), strict=True
        ):
            extent, count = shape_of(x)[axis], emitter.result_shape[axis]
            find = (
                _source_indices_of_image
                if len(axes) == 2
                else _source_indices_of_row_or_volume
            )
            sources = find(
                extent,
                count,
                factor,
                emitter.wide_element,
                samples_centres=samples_centres,
            )
            repeats = max(count // extent, 1)
            if sources == [index // repeats for index in range(count)]:
                x = _repeat_each_element(
                    emitter, emitter.slice(x, axis, 0, count // repeats), axis, repeats
                )
            else:
                x = emitter.take_at_indices(x, sources, axis)
        return x

    return convert


for _rank in (1, 2, 3):
    for _form in ("default", "vec"):
        for _name, _exact in (("upsample_nearest", 0), ("_upsample_nearest_exact", 1)):
            register_as_converter(f"{_name}{_rank}d.{_form}")(
                _make_nearest_converter(samples_centres=bool(_exact))
            )


def _source_indices_of_image(
    extent: int,
    result_extent: int,
    scale_factor: float | None,
    element: Attribute,
    *,
    samples_centres: bool,
) -> list[int]:
    """
    Return the source of each of `result_extent` elements along an axis of an image,
    computed in single precision for any type, as in PyTorch.
    """
    if not samples_centres and result_extent in (extent, 2 * extent):
        return [index * extent // result_extent for index in range(result_extent)]
    step = np.float32(
        extent / result_extent if scale_factor is None else 1 / scale_factor
    )
    positions = (
        np.arange(result_extent, dtype=np.float32) + np.float32(samples_centres / 2)
    ) * step
    return _floor_to_indices(positions, extent)


def _source_indices_of_row_or_volume(
    extent: int,
    result_extent: int,
    scale_factor: float | None,
    element: Attribute,
    *,
    samples_centres: bool,
) -> list[int]:
    """
    Return the source of each of `result_extent` elements along an axis of a row or
    volume, computed in the type of the formulas, with a single rounding of centres, as
    in PyTorch.
    """
    wide = dtype_of(element).type
    step = np.float64(
        wide(extent / result_extent if scale_factor is None else 1 / scale_factor)
    )
    positions = np.arange(result_extent, dtype=np.float64) * step
    if samples_centres:
        centres = (np.arange(result_extent, dtype=np.float64) + 0.5) * step - 0.5
        positions = np.maximum(centres.astype(wide), 0).astype(np.float64) + 0.5
    return _floor_to_indices(positions.astype(wide).astype(np.float32), extent)


def _floor_to_indices(positions: Array, extent: int) -> list[int]:
    """Round positions down to indices of an axis, clamped to its extent."""
    return [int(index) for index in np.minimum(np.floor(positions), extent - 1)]


def _repeat_each_element(
    emitter: Emitter, x: SSAValue, axis: int, repeats: int
) -> SSAValue:
    """
    Emit `x` with each element repeated next to itself along `axis`, by a broadcast.
    """
    if repeats == 1:
        return x
    shape = shape_of(x)
    before, after = shape[: axis + 1], shape[axis + 1 :]
    column = emitter.reshape(x, (*before, 1, *after))
    repeated = emitter.broadcast(column, (*before, repeats, *after))
    return emitter.reshape(repeated, (*shape[:axis], shape[axis] * repeats, *after))


@register_as_converter(
    "upsample_linear1d.default",
    "upsample_bilinear2d.default",
    "upsample_trilinear3d.default",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
)
def _convert_linear_resampling(
    emitter: Emitter, x: SSAValue, sizes: Any, align_corners: bool, *scales: Any
) -> SSAValue:
    """Emit linear interpolation along the axes of an image."""
    counts = emitter.result_shape[2:]
    factors = _scale_factors_per_axis(scales, len(counts))
    steps = [
        _step_of_axis(extent, count, align_corners, factor)
        for extent, count, factor in zip(shape_of(x)[2:], counts, factors, strict=True)
    ]
    resampled = graph.InterpolateOp(x, counts, steps, half_pixel=not align_corners)
    return emitter.emit(resampled)


def _step_of_axis(
    extent: int, result_extent: int, align_corners: bool, scale_factor: float | None
) -> float:
    """
    Return the distance of the points of `result_extent` elements in an axis of `extent`
    elements. PyTorch keeps an axis whose extent stays, whatever the scale factor.
    """
    if extent == result_extent:
        return 1.0
    if align_corners:
        return (extent - 1) / max(result_extent - 1, 1)
    return extent / result_extent if scale_factor is None else 1 / scale_factor
