"""
Analysis of affine accesses, without IR: the number of elements accessed, or a lower
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tlf.support.affine.index_access import Accesses, IndexAccess


@dataclass(frozen=True)
class AxisFootprint:
    """
    Summary of the accessed indices of one axis: count, range and largest distance.
    """

    count: int
    first_index: int
    last_index: int
    step: int
    """Largest distance of neighbouring indices."""


NO_INDICES = AxisFootprint(0, 0, 0, 0)


def axis_footprint_of(
    access: IndexAccess, extents: Sequence[int], extent: int
) -> AxisFootprint:
    """
    Return the in-bounds indices of an axis of `extent` elements that iterations of the
    given extents access.
    """
    if access.index is not None:
        return NO_INDICES
    first, length, scattered = access.offset, access.width, list[tuple[int, int]]()
    terms = sorted((factor, extents[iterator]) for iterator, factor in access.terms)
    for factor, count in terms:
        if factor <= length and not scattered:
            length += factor * (count - 1)
        elif count > 1:
            scattered.append((factor, count))
    if not scattered:
        low, high = max(first, 0), min(first + length, extent)
        return AxisFootprint(high - low, low, high - 1, 1) if high > low else NO_INDICES
    starts = np.arange(first, first + length)
    for factor, count in scattered:
        starts = np.unique(np.add.outer(starts, factor * np.arange(count)))
    in_bounds = starts[(starts >= 0) & (starts < extent)]
    if not in_bounds.size:
        return NO_INDICES
    step = int(np.diff(in_bounds).max()) if in_bounds.size > 1 else 1
    return AxisFootprint(
        int(in_bounds.size), int(in_bounds[0]), int(in_bounds[-1]), step
    )


def is_access_in_bounds(
    access: IndexAccess, extents: Sequence[int], extent: int
) -> bool:
    """Return `True` if every iteration accesses only indices within the tensor."""
    spans = [factor * (extents[each] - 1) for each, factor in access.terms]
    first = access.offset + sum(min(0, span) for span in spans)
    last = access.offset + sum(max(0, span) for span in spans)
    return first >= 0 and last + access.width <= extent


def access_footprint_of(
    accesses: Accesses, extents: Sequence[int], shape: Sequence[int]
) -> tuple[AxisFootprint, ...]:
    """
    Return the accessed indices per axis. The product of the counts is a lower bound on
    the number of accessed elements: of the axes that share an iterator, as on a
    diagonal, only the first counts, and nothing if it exceeds the tensor.
    """
    iterators_per_axis = [
        {iterator for iterator, _ in access.terms if extents[iterator] > 1}
        for access in accesses
    ]
    visited: set[int] = set()
    footprints: list[AxisFootprint] = []
    for iterators, access, extent in zip(
        iterators_per_axis, accesses, shape, strict=True
    ):
        is_shared = sum(bool(iterators & other) for other in iterators_per_axis) > 1
        if is_shared and not is_access_in_bounds(access, extents, extent):
            footprints.append(NO_INDICES)
        elif iterators & visited:
            footprints.append(AxisFootprint(1, 0, 0, 1))
        else:
            footprints.append(axis_footprint_of(access, extents, extent))
        visited |= iterators
    return tuple(footprints)


def footprint_size(footprints: Sequence[AxisFootprint]) -> int:
    """Return the number of elements of a box of indices."""
    return reduce(lambda total, each: total * each.count, footprints, 1)


def can_footprints_overlap(
    left: Sequence[AxisFootprint], right: Sequence[AxisFootprint]
) -> bool:
    """Return `True` if two boxes of indices may have an element in common."""
    return all(
        first.first_index <= second.last_index
        and second.first_index <= first.last_index
        for first, second in zip(left, right, strict=True)
    )


def min_bursts_of_footprint(
    footprints: Sequence[AxisFootprint],
    shape: Sequence[int],
    itemsize: int,
    burst_bytes: int,
) -> int:
    """
    Return a lower bound on the number of bursts of `burst_bytes` bytes with an accessed
    element, in a tensor of elements of `itemsize` bytes.

    If accessed elements are at most one burst apart, every burst between the first and
    the last one is accessed. If they are farther apart, only their bytes count.
    """
    if not (elements := footprint_size(footprints)):
        return 0
    least = -(-elements * itemsize // burst_bytes)
    stride, inner, span, gap = 1, 0, 0, 1
    for each, extent in zip(reversed(footprints), reversed(shape), strict=True):
        if each.count > 1:
            gap = max(gap, each.step * stride - inner)
        inner += (each.last_index - each.first_index) * stride
        span = inner
        stride *= extent
    if gap * itemsize > burst_bytes:
        return least
    return max(least, -(-(span + 1) * itemsize // burst_bytes))
