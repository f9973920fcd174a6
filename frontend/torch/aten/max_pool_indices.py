"""
Import of ATen maximum pooling from PyTorch: the indices of the maxima of pooling
windows, built of operations of `graph`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind, neutral_element_of
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.aten.sliding_windows import SlidingWindows
from tlf.frontend.torch.emitter import Emitter


def emit_max_pool_indices(
    emitter: Emitter, x: SSAValue, windows: SlidingWindows
) -> Sequence[SSAValue | None]:
    """
    Return the second result of a max pooling: the index of the maximum of each window,
    linear in the last axes; `None` if it is unused.
    """
    if len(emitter.results) == 1:
        return (None,)
    rank = len(windows.taps)
    extents, counts = shape_of(x)[-rank:], emitter.result_shape[-rank:]
    outer = shape_of(x)[:-rank]
    fill = neutral_element_of(ReduceKind.MAX, element_type_of_value(x))
    gathered = windows.gather_window_elements(emitter, x, counts, fill)
    flat = emitter.reshape(gathered, (*outer, math.prod(windows.taps), *counts))
    tap = _emit_tap_of_maximum(emitter, flat, len(outer))
    axis_indices = [
        _emit_element_indices(emitter, tap, windows, counts, axis)
        for axis in range(rank)
    ]
    index = axis_indices[0]
    for axis_index, extent in zip(axis_indices[1:], extents[1:], strict=True):
        index = emitter.add(emitter.mul(index, extent, i64), axis_index, i64)
    return (emitter.reshape(index, emitter.result_shape),)


def _emit_tap_of_maximum(emitter: Emitter, x: SSAValue, axis: int) -> SSAValue:
    """
    Emit the index along an axis of the first maximum, or of the last NaN if there is
    one.
    """
    first = emitter.emit(graph.ArgReduceOp(x, "max", axis, False))
    if not is_float(element_type_of_value(x)):
        return first
    extent, *trailing = shape_of(x)[axis:]
    taps = emitter.reshape(
        emitter.emit_iota(extent, i64), (extent, *[1] * len(trailing))
    )
    is_nan = emitter.compare(x, x, "ne", element_type_of_value(x))
    last = emitter.reduce(emitter.select(is_nan, taps, 0, i64), "max", [axis])
    return emitter.emit_elementwise(graph.MaximumOp, first, last, element=i64)


def _emit_element_indices(
    emitter: Emitter,
    tap_indices: SSAValue,
    windows: SlidingWindows,
    window_counts: Sequence[int],
    axis: int,
) -> SSAValue:
    """
    Emit the indices along an axis of the taps of windows. A window without elements
    above the fill value has its first tap, which may be out of bounds; it is clamped to
    the first in-bounds element.
    """
    step, size = windows.dilation[axis], window_counts[axis]
    reach = [taps[axis] * step for taps in product(*map(range, windows.taps))]
    starts = np.arange(size) * windows.strides[axis] - windows.low_padding[axis]
    first = np.where(starts < 0, starts % step, starts)
    column = (size, *[1] * (len(window_counts) - axis - 1))
    offset = emitter.emit(
        graph.TakeOp(emitter.emit_constant(np.array(reach), i64), tap_indices, 0)
    )
    position = emitter.add(
        offset, emitter.reshape(emitter.emit_constant(starts, i64), column), i64
    )
    lower_bound = emitter.reshape(emitter.emit_constant(first, i64), column)
    return emitter.emit_elementwise(graph.MaximumOp, position, lower_bound, element=i64)
