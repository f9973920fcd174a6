"""Access footprint: number of tensor elements accessed, exact or a lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tlf.support.affine.index_access import Accesses, IndexAccess


@dataclass(frozen=True)
class AxisFootprint:
    """The accessed indices of one axis, as a range with gaps."""

    count: int
    first: int
    last: int
    step: int
    """The greatest distance of neighbours."""


NO_INDICES = AxisFootprint(0, 0, 0, 0)


def axis_footprint_of(
    access: IndexAccess, extents: Sequence[int], extent: int
) -> AxisFootprint:
    """
    The indices of an axis of `extent` elements that iterations of the given extents
    touch, those that are not there left out.
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
    inside = starts[(starts >= 0) & (starts < extent)]
    if not inside.size:
        return NO_INDICES
    step = int(np.diff(inside).max()) if inside.size > 1 else 1
    return AxisFootprint(int(inside.size), int(inside[0]), int(inside[-1]), step)


def is_in_bounds(access: IndexAccess, extents: Sequence[int], extent: int) -> bool:
    """Return `True` if every iteration touches only indices within the tensor."""
    last = sum(factor * (extents[each] - 1) for each, factor in access.terms)
    return access.offset >= 0 and access.offset + last + access.width <= extent


def access_footprint_of(
    accesses: Accesses, extents: Sequence[int], shape: Sequence[int]
) -> tuple[AxisFootprint, ...]:
    """
    Return the accessed indices per axis; their product is a lower bound. Where an
    iterator moves along two axes, as on a diagonal, only the first of them counts, and
    nothing if it leaves the tensor: the product of the counts is never more than what
    is touched.
    """
    moving = [
        {iterator for iterator, _ in access.terms if extents[iterator] > 1}
        for access in accesses
    ]
    used: set[int] = set()
    found: list[AxisFootprint] = []
    for own, access, extent in zip(moving, accesses, shape, strict=True):
        is_shared = sum(bool(own & other) for other in moving) > 1
        if is_shared and not is_in_bounds(access, extents, extent):
            found.append(NO_INDICES)
        elif own & used:
            found.append(AxisFootprint(1, 0, 0, 1))
        else:
            found.append(axis_footprint_of(access, extents, extent))
        used |= own
    return tuple(found)


def footprint_size(reached: Sequence[AxisFootprint]) -> int:
    """Return the number of elements of a box of indices."""
    return reduce(lambda total, each: total * each.count, reached, 1)


def can_overlap(one: Sequence[AxisFootprint], other: Sequence[AxisFootprint]) -> bool:
    """Return `True` if two boxes of indices may have an element in common."""
    return all(
        first.first <= second.last and second.first <= first.last
        for first, second in zip(one, other, strict=True)
    )


def min_bursts(
    reached: Sequence[AxisFootprint], shape: Sequence[int], width: int, burst: int
) -> int:
    """
    The least number of bursts of `burst` bytes, of a tensor of elements of `width`
    bytes, that have a touched element.

    Elements whose distance is no more than a burst leave out no burst between the first
    and the last of them. Where they lie farther apart, only their bytes count.
    """
    if not (elements := footprint_size(reached)):
        return 0
    least = -(-elements * width // burst)
    stride, inner, span, gap = 1, 0, 0, 1
    for each, extent in zip(reversed(reached), reversed(shape), strict=True):
        if each.count > 1:
            gap = max(gap, each.step * stride - inner)
        inner += (each.last - each.first) * stride
        span = inner
        stride *= extent
    if gap * width > burst:
        return least
    return max(least, -(-(span + 1) * width // burst))
