"""Import of ATen maximum pooling: indices of the maxima of pooling windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind, neutral_element_of
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.aten.sliding_windows import SlidingWindows
from tlf.frontend.torch.emitter import Emitter


def index_of_maximum(
    at: Emitter, x: SSAValue, windows: SlidingWindows
) -> Sequence[SSAValue | None]:
    """
    Return the second result of a max pooling: the index of the maximum of each window,
    linear in the last axes; `None` if it is unused.
    """
    if len(at.results) == 1:
        return (None,)
    rank = len(windows.taps)
    extents, counts = shape_of(x)[-rank:], at.shape[-rank:]
    outer = shape_of(x)[:-rank]
    fill = neutral_element_of(ReduceKind.MAX, element_of(x))
    gathered = windows.gather_elements(at, x, counts, fill)
    flat = at.reshape(gathered, (*outer, math.prod(windows.taps), *counts))
    tap = _tap_of_maximum(at, flat, len(outer))
    axis_indices = [
        _element_indices(at, tap, windows, counts, axis) for axis in range(rank)
    ]
    index = axis_indices[0]
    for axis_index, extent in zip(axis_indices[1:], extents[1:], strict=True):
        index = at.add(at.mul(index, extent, i64), axis_index, i64)
    return (at.reshape(index, at.shape),)


def _tap_of_maximum(at: Emitter, x: SSAValue, axis: int) -> SSAValue:
    """
    Emit the index along an axis of the first maximum, or of the last NaN if there is
    one.
    """
    first = at.emit(graph.ArgReduceOp(x, "max", axis, False))
    if not is_float(element_of(x)):
        return first
    extent, *trailing = shape_of(x)[axis:]
    taps = at.reshape(at.iota(extent, i64), (extent, *[1] * len(trailing)))
    is_nan = at.compare(x, x, "ne", element_of(x))
    last = at.reduce(at.select(is_nan, taps, 0, i64), "max", [axis])
    return at.apply(graph.MaximumOp, first, last, element=i64)


def _element_indices(
    at: Emitter,
    tap: SSAValue,
    windows: SlidingWindows,
    counts: Sequence[int],
    axis: int,
) -> SSAValue:
    """
    Emit the indices along an axis of the taps of windows. A window without elements
    above the fill value has its first tap, which may be out of bounds; it is clamped to
    the first in-bounds element.
    """
    step, size = windows.dilation[axis], counts[axis]
    reach = [taps[axis] * step for taps in product(*map(range, windows.taps))]
    starts = np.arange(size) * windows.strides[axis] - windows.low[axis]
    first = np.where(starts < 0, starts % step, starts)
    column = (size, *[1] * (len(counts) - axis - 1))
    offset = at.emit(graph.TakeOp(at.constant(np.array(reach), i64), tap, 0))
    position = at.add(offset, at.reshape(at.constant(starts, i64), column), i64)
    lower_bound = at.reshape(at.constant(first, i64), column)
    return at.apply(graph.MaximumOp, position, lower_bound, element=i64)
