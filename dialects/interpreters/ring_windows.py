"""
Reference interpretation of views of boxes and of ring buffers, whose indices wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tlf.dialects.collapsing_interface import collapsed_shape
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.tile import intersect_box


@dataclass(frozen=True, eq=False)
class RingWindow:
    """Consecutive slices of an array along an axis whose indices wrap."""

    ring: Array
    """All slices of the ring, restricted to the window along the other axes."""
    axis: int
    start: int
    """First slice of the window, in the range of the slices of the ring."""
    size: int

    @property
    def shape(self) -> tuple[int, ...]:
        shape = list(self.ring.shape)
        shape[self.axis] = self.size
        return tuple(shape)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.ring.dtype

    def collapse_axes(self, axis: int) -> RingWindow:
        """Return the window with axes `axis` and `axis + 1` merged into `axis`."""
        row, strides = self.ring.shape[axis + 1], list(self.ring.strides)
        strides[axis] = strides[axis + 1]
        shape = collapsed_shape(self.ring.shape, axis)
        ring = as_strided(self.ring, shape, strides)
        count = row if axis == self.axis else 1
        return RingWindow(ring, self.axis, self.start * count, self.size * count)


MoveEnd: TypeAlias = Array | RingWindow
"""Source or destination of a move."""

BoxView: TypeAlias = tuple[Array, tuple[slice, ...]]
"""Elements of an array, and their slices of the box."""


def view_box(
    place: MoveEnd, offsets: Sequence[int], sizes: Sequence[int]
) -> tuple[BoxView, ...]:
    """
    Return the in-bounds elements of a box as views of the array: two views if the box
    straddles the end of a ring, else one.
    """
    region, box = intersect_box(offsets, sizes, place.shape)
    if not isinstance(place, RingWindow):
        return ((place[(*region, ...)], box),)
    axis, slots = place.axis, place.ring.shape[place.axis]
    first, last = (
        place.start + each for each in (region[axis].start, region[axis].stop)
    )
    views: list[BoxView] = []
    for low, high, lap in ((first, min(last, slots), 0), (max(first, slots), last, 1)):
        if low >= high:
            continue
        slices, where = list(region), list(box)
        slices[axis] = slice(low - lap * slots, high - lap * slots)
        begin = box[axis].start + low - first
        where[axis] = slice(begin, begin + high - low)
        views.append((place.ring[tuple(slices)], tuple(where)))
    return tuple(views)


def copy_box(
    source: MoveEnd, offsets: Sequence[int], sizes: Sequence[int], outside: float
) -> Array:
    """Copy a box of elements; out-of-bounds elements become `outside`."""
    result = np.full(sizes, outside, source.dtype)
    for elements, box in view_box(source, offsets, sizes):
        result[(*box, ...)] = elements
    return result
