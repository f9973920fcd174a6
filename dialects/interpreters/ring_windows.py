"""
Reference interpretation of boxes and ring buffers of the `mem` dialect: views of arrays
whose indices wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tlf.dialects.collapsing_interface import collapse_axes_of_shape
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.tile import clip_box_to_slices


@dataclass(frozen=True, eq=False)
class RingWindow:
    """Consecutive slices of an array along an axis whose indices wrap."""

    ring_array: Array
    """All slices of the ring, restricted to the window along the other axes."""
    axis: int
    first_slice: int
    """First slice of the window, in the range of the slices of the ring."""
    slice_count: int

    @property
    def shape(self) -> tuple[int, ...]:
        shape = list(self.ring_array.shape)
        shape[self.axis] = self.slice_count
        return tuple(shape)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.ring_array.dtype

    def collapse_axes(self, axis: int) -> RingWindow:
        """Return the window with axes `axis` and `axis + 1` merged into `axis`."""
        row, strides = self.ring_array.shape[axis + 1], list(self.ring_array.strides)
        strides[axis] = strides[axis + 1]
        shape = collapse_axes_of_shape(self.ring_array.shape, axis)
        ring = as_strided(self.ring_array, shape, strides)
        count = row if axis == self.axis else 1
        return RingWindow(
            ring, self.axis, self.first_slice * count, self.slice_count * count
        )


MoveEnd: TypeAlias = Array | RingWindow
"""Source or destination of a move."""

BoxView: TypeAlias = tuple[Array, tuple[slice, ...]]
"""Elements of an array, and their slices of the box."""


def view_in_bounds_box(
    buffer: MoveEnd, offsets: Sequence[int], sizes: Sequence[int]
) -> tuple[BoxView, ...]:
    """
    Return the in-bounds elements of a box as views of the array: two views if the box
    straddles the end of a ring, else one.
    """
    region, box = clip_box_to_slices(offsets, sizes, buffer.shape)
    if not isinstance(buffer, RingWindow):
        return ((buffer[(*region, ...)], box),)
    axis, slots = buffer.axis, buffer.ring_array.shape[buffer.axis]
    first, last = (
        buffer.first_slice + each for each in (region[axis].start, region[axis].stop)
    )
    views: list[BoxView] = []
    for low, high, lap in ((first, min(last, slots), 0), (max(first, slots), last, 1)):
        if low >= high:
            continue
        slices, where = list(region), list(box)
        slices[axis] = slice(low - lap * slots, high - lap * slots)
        begin = box[axis].start + low - first
        where[axis] = slice(begin, begin + high - low)
        views.append((buffer.ring_array[tuple(slices)], tuple(where)))
    return tuple(views)


def copy_padded_box(
    source: MoveEnd,
    offsets: Sequence[int],
    sizes: Sequence[int],
    out_of_bounds_value: float,
) -> Array:
    """Copy a box of elements; out-of-bounds elements become `out_of_bounds_value`."""
    result = np.full(sizes, out_of_bounds_value, source.dtype)
    for elements, box in view_in_bounds_box(source, offsets, sizes):
        result[(*box, ...)] = elements
    return result
