"""Images at another size."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tlf.dialects.graph.tensors import shape_of
from tlf.dialects.interfaces import Array
from tlf.frontend.torch.aten.pooling import along_axis
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import converts


def _factors(scales: Any, rank: int) -> list[float | None]:
    """The scale factors that a caller gave, one for each axis."""
    given: list[Any] = [each for each in scales if each is not None]
    if given and not isinstance(given[0], float | int):
        given = list(given[0])
    return given if len(given) == rank else [None] * rank


def _resampled_axes(x: SSAValue) -> range:
    return range(2, len(shape_of(x)))


@converts(
    "upsample_nearest1d.default",
    "upsample_nearest2d.default",
    "upsample_nearest3d.default",
    "upsample_nearest1d.vec",
    "upsample_nearest2d.vec",
    "upsample_nearest3d.vec",
)
def _nearest(at: Emitter, x: SSAValue, sizes: Any, *scales: Any) -> SSAValue:
    axes = _resampled_axes(x)
    for axis, factor in zip(axes, _factors(scales, len(axes)), strict=True):
        extent, count = shape_of(x)[axis], at.shape[axis]
        if count % extent == 0 and factor in (None, count / extent):
            x = _repeated(at, x, axis, count // extent)
            continue
        step = extent / count if factor is None else 1 / factor
        places = np.minimum(np.floor(np.arange(count) * np.float32(step)), extent - 1)
        x = at.take(x, [int(place) for place in places], axis)
    return x


def _repeated(at: Emitter, x: SSAValue, axis: int, count: int) -> SSAValue:
    shape = shape_of(x)
    before, after = shape[: axis + 1], shape[axis + 1 :]
    column = at.reshape(x, (*before, 1, *after))
    wide = at.broadcast(column, (*before, count, *after))
    return at.reshape(wide, (*shape[:axis], shape[axis] * count, *after))


@converts(
    "upsample_linear1d.default",
    "upsample_bilinear2d.default",
    "upsample_trilinear3d.default",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
)
def _linear(
    at: Emitter, x: SSAValue, sizes: Any, align_corners: bool, *scales: Any
) -> SSAValue:
    axes = _resampled_axes(x)
    value = at.cast(x, at.wide)
    for axis, factor in zip(axes, _factors(scales, len(axes)), strict=True):
        extent, count = shape_of(value)[axis], at.shape[axis]
        if extent != count:
            weights = _weights(extent, count, align_corners, factor)
            value = along_axis(at, value, axis, weights)
    return at.finish(value)


def _weights(
    extent: int, count: int, align_corners: bool, factor: float | None
) -> Array:
    """How much of each of `extent` elements each of `count` has: a row each."""
    if align_corners:
        step = (extent - 1) / (count - 1) if count > 1 else 0.0
        places = np.arange(count) * step
    else:
        step = extent / count if factor is None else 1 / factor
        places = np.maximum((np.arange(count) + 0.5) * step - 0.5, 0)
    low = np.minimum(np.floor(places).astype(np.int64), extent - 1)
    high = np.minimum(low + 1, extent - 1)
    share = np.minimum(places - low, 1)
    weights = np.zeros((count, extent))
    np.add.at(weights, (np.arange(count), low), 1 - share)
    np.add.at(weights, (np.arange(count), high), share)
    return weights
