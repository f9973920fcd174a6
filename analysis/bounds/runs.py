"""
Indices that an access reaches for certain, from indices of which only the number and
the stride are known, not the offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from tlf.support.affine.access import Access, Accesses


class Run(NamedTuple):
    """Some indices of an axis, at equal distances; where they are is not known."""

    length: int
    """Number of indices."""
    step: int = 1


Box: TypeAlias = tuple[Run, ...]
"""A run for each axis: all combinations of their indices."""

ONE = Run(1)


def elements_in(box: Box) -> int:
    """Return the number of elements of a box."""
    return prod(run.length for run in box)


def whole_box(shape: Sequence[int]) -> Box:
    """All elements of a tensor."""
    return tuple(Run(extent) for extent in shape)


def any_element(shape: Sequence[int]) -> Box:
    """One element, whichever."""
    return (ONE,) * len(shape)


def reached_box(
    accesses: Accesses,
    iterations: Sequence[Run],
    extents: Sequence[int],
    shape: Sequence[int],
) -> Box | None:
    """
    A box of elements that is read, wherever the iterations lie in a domain of the given
    extents; None where they may read nothing. Of an iterator that moves along two axes
    one value counts, as the elements of several are no box.
    """
    runs = list(iterations)
    seen: set[int] = set()
    for access in accesses:
        moving = {each for each, _ in access.terms if extents[each] > 1}
        for each in moving & seen:
            runs[each] = ONE
        seen |= moving
    box = tuple(
        _reached(access, runs, extents, extent)
        for access, extent in zip(accesses, shape, strict=True)
    )
    return box if all(run.length > 0 for run in box) else None


def _reached(
    access: Access, runs: Sequence[Run], extents: Sequence[int], extent: int
) -> Run:
    """A run of indices of one axis; of what indices choose, nothing."""
    if access.index is not None:
        return Run(0)
    if access.is_plain and extents[access.terms[0][0]] <= extent:
        return runs[access.terms[0][0]]
    found = Run(access.width)
    terms = [
        (factor * runs[each].step, runs[each].length) for each, factor in access.terms
    ]
    for step, count in sorted(terms):
        found = _sum(found, Run(count, step))
    last = sum(factor * (extents[each] - 1) for each, factor in access.terms)
    return _inside(found, access.offset, access.offset + last + access.width, extent)


def _sum(run: Run, other: Run) -> Run:
    """A run among the sums of indices of two runs."""
    if other.length == 1:
        return run
    if run.length == 1:
        return other
    distance, rest = divmod(other.step, run.step)
    if not rest and distance <= run.length:
        return Run(run.length + distance * (other.length - 1), run.step)
    return max(run, other)


def _inside(run: Run, low: int, high: int, extent: int) -> Run:
    """
    Return the part of a run within `low` and `high` that lies within an axis at any
    offset. The minimum is reached at the first or at the last offset.
    """
    if low >= 0 and high <= extent:
        return run
    if run.step == 1:
        starts = (low, high - run.length)
        count = min(min(at + run.length, extent) - max(at, 0) for at in starts)
        return Run(max(0, count))
    outside = max(0, -low), max(0, high - extent)
    lost = sum(-(-each // run.step) for each in outside)
    return Run(max(0, run.length - lost), run.step)


def reshaped_box(
    groups: Sequence[tuple[Sequence[int], Sequence[int]]],
    box: Box,
    shape: Sequence[int],
    source: Sequence[int],
) -> Box:
    """
    A box within what a box is under another shape. `groups` are the axes of the other
    shape and of this one with the same elements.
    """
    found = [ONE] * len(source)
    for left, right in groups:
        if len(left) == len(right) == 1:
            found[left[0]] = box[right[0]]
        elif all(box[axis].length == shape[axis] for axis in right):
            for axis in left:
                found[axis] = Run(source[axis])
    return tuple(found)
