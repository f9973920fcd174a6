"""Import of ATen nearest and linear resampling of images as graph operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import Array
from tlf.dialects.types import dtype_of
from tlf.frontend.torch.aten.pooling import weighted_sums
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import Converter, converts


def _scale_factors(scales: Any, rank: int) -> list[float | None]:
    """
    Return the scale factors of a call, one per axis; `None` if they are not given.
    """
    factors: list[Any] = [each for each in scales if each is not None]
    if factors and not isinstance(factors[0], float | int):
        factors = list(factors[0])
    return factors if len(factors) == rank else [None] * rank


def _resampled_axes(x: SSAValue) -> range:
    return range(2, len(shape_of(x)))


def _make_nearest(*, exact: bool) -> Converter:
    """
    Return a converter to nearest resampling; the position of an element is its centre
    if `exact`, else its left edge.
    """

    def convert(at: Emitter, x: SSAValue, sizes: Any, *scales: Any) -> SSAValue:
        axes = _resampled_axes(x)
        for axis, factor in zip(axes, _scale_factors(scales, len(axes)), strict=True):
            extent, count = shape_of(x)[axis], at.shape[axis]
            find = _image_sources if len(axes) == 2 else _row_sources
            sources = find(extent, count, factor, at.wide, exact=exact)
            repeats = max(count // extent, 1)
            if sources == [index // repeats for index in range(count)]:
                x = _repeat_axis(
                    at, at.slice(x, axis, 0, count // repeats), axis, repeats
                )
            else:
                x = at.take(x, sources, axis)
        return x

    return convert


for _rank in (1, 2, 3):
    for _form in ("default", "vec"):
        for _name, _exact in (("upsample_nearest", 0), ("_upsample_nearest_exact", 1)):
            converts(f"{_name}{_rank}d.{_form}")(_make_nearest(exact=bool(_exact)))


def _image_sources(
    extent: int, count: int, factor: float | None, element: Attribute, *, exact: bool
) -> list[int]:
    """
    Return the source of each of `count` elements along an axis of an image, computed in
    single precision for any type, as in PyTorch.
    """
    if not exact and count in (extent, 2 * extent):
        return [index * extent // count for index in range(count)]
    step = np.float32(extent / count if factor is None else 1 / factor)
    positions = (np.arange(count, dtype=np.float32) + np.float32(exact / 2)) * step
    return _clamp_indices(positions, extent)


def _row_sources(
    extent: int, count: int, factor: float | None, element: Attribute, *, exact: bool
) -> list[int]:
    """
    Return the source of each of `count` elements along an axis of a row or volume,
    computed in the type of the formulas, with a single rounding of centres, as in
    PyTorch.
    """
    wide = dtype_of(element).type
    step = np.float64(wide(extent / count if factor is None else 1 / factor))
    positions = np.arange(count, dtype=np.float64) * step
    if exact:
        centres = (np.arange(count, dtype=np.float64) + 0.5) * step - 0.5
        positions = np.maximum(centres.astype(wide), 0).astype(np.float64) + 0.5
    return _clamp_indices(positions.astype(wide).astype(np.float32), extent)


def _clamp_indices(places: Array, extent: int) -> list[int]:
    """Round positions down to indices of an axis, clamped to its extent."""
    return [int(index) for index in np.minimum(np.floor(places), extent - 1)]


def _repeat_axis(at: Emitter, x: SSAValue, axis: int, count: int) -> SSAValue:
    if count == 1:
        return x
    shape = shape_of(x)
    before, after = shape[: axis + 1], shape[axis + 1 :]
    column = at.reshape(x, (*before, 1, *after))
    repeated = at.broadcast(column, (*before, count, *after))
    return at.reshape(repeated, (*shape[:axis], shape[axis] * count, *after))


@converts(
    "upsample_linear1d.default",
    "upsample_bilinear2d.default",
    "upsample_trilinear3d.default",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
)
def _interpolate_linear(
    at: Emitter, x: SSAValue, sizes: Any, align_corners: bool, *scales: Any
) -> SSAValue:
    axes = _resampled_axes(x)
    value = at.cast(x, at.wide)
    for axis, factor in zip(axes, _scale_factors(scales, len(axes)), strict=True):
        extent, count = shape_of(value)[axis], at.shape[axis]
        if extent != count:
            weights = _interpolation_weights(extent, count, align_corners, factor)
            value = weighted_sums(at, value, axis, weights)
    return at.to_result(value)


def _interpolation_weights(
    extent: int, count: int, align_corners: bool, factor: float | None
) -> Array:
    """
    Return the interpolation weights of `extent` elements in each of `count` elements,
    as a count x extent matrix.
    """
    if align_corners:
        step = (extent - 1) / (count - 1) if count > 1 else 0.0
        positions = np.arange(count) * step
    else:
        step = extent / count if factor is None else 1 / factor
        positions = np.maximum((np.arange(count) + 0.5) * step - 0.5, 0)
    low = np.minimum(np.floor(positions).astype(np.int64), extent - 1)
    high = np.minimum(low + 1, extent - 1)
    share = np.minimum(positions - low, 1)
    weights = np.zeros((count, extent))
    np.add.at(weights, (np.arange(count), low), 1 - share)
    np.add.at(weights, (np.arange(count), high), share)
    return weights
