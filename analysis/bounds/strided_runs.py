"""
Analysis of affine accesses, without IR: strided runs of indices that they certainly
reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from tlf.support.affine.index_access import Accesses, IndexAccess


class StridedRun(NamedTuple):
    """Number and distance of equidistant indices of an axis, at an unknown offset."""

    length: int
    """Number of indices."""
    step: int = 1


RunBox: TypeAlias = tuple[StridedRun, ...]
"""A run per axis; the box is the product of their indices."""

SINGLE = StridedRun(1)


def run_box_size(box: RunBox) -> int:
    """Return the number of elements of a box."""
    return prod(run.length for run in box)


def whole_run_box(shape: Sequence[int]) -> RunBox:
    """Return the box of all elements of a tensor."""
    return tuple(StridedRun(extent) for extent in shape)


def single_element_box(shape: Sequence[int]) -> RunBox:
    """Return the box of any single element."""
    return (SINGLE,) * len(shape)


def min_reached_box(
    accesses: Accesses,
    iterations: Sequence[StridedRun],
    extents: Sequence[int],
    shape: Sequence[int],
) -> RunBox | None:
    """
    Return a box that is certainly read; None if there may be none. An iterator that
    moves along two axes counts with one value, because the elements of several values
    are not a box.
    """
    runs = list(iterations)
    visited: set[int] = set()
    for access in accesses:
        iterators = {each for each, _ in access.terms if extents[each] > 1}
        for each in iterators & visited:
            runs[each] = SINGLE
        visited |= iterators
    box = tuple(
        _min_reached_run(access, runs, extents, extent)
        for access, extent in zip(accesses, shape, strict=True)
    )
    return box if all(run.length > 0 for run in box) else None


def _min_reached_run(
    access: IndexAccess, runs: Sequence[StridedRun], extents: Sequence[int], extent: int
) -> StridedRun:
    """
    Return a run of indices of one axis that is certainly read; empty for data-dependent
    indices.
    """
    if access.index is not None:
        return StridedRun(0)
    if access.is_loop_dim and extents[access.terms[0][0]] <= extent:
        return runs[access.terms[0][0]]
    run = StridedRun(access.width)
    terms = [
        (factor * runs[each].step, runs[each].length) for each, factor in access.terms
    ]
    for step, count in sorted(terms):
        run = _run_within_sums(run, StridedRun(count, step))
    last = sum(factor * (extents[each] - 1) for each, factor in access.terms)
    return _clip_run(run, access.offset, access.offset + last + access.width, extent)


def _run_within_sums(run: StridedRun, other: StridedRun) -> StridedRun:
    """
    Return a run whose indices are all sums of one index of `run` and one of `other`.
    """
    if other.length == 1:
        return run
    if run.length == 1:
        return other
    distance, remainder = divmod(other.step, run.step)
    if not remainder and distance <= run.length:
        return StridedRun(run.length + distance * (other.length - 1), run.step)
    return max(run, other)


def _clip_run(run: StridedRun, low: int, high: int, extent: int) -> StridedRun:
    """
    Return the part of a run within `low` and `high` that is inside an axis at any
    offset. The minimum is reached at the first or at the last offset.
    """
    if low >= 0 and high <= extent:
        return run
    if run.step == 1:
        starts = (low, high - run.length)
        count = min(min(start + run.length, extent) - max(start, 0) for start in starts)
        return StridedRun(max(0, count))
    excess = max(0, -low), max(0, high - extent)
    dropped = sum(-(-each // run.step) for each in excess)
    return StridedRun(max(0, run.length - dropped), run.step)


def reshape_run_box(
    axis_groups: Sequence[tuple[Sequence[int], Sequence[int]]],
    box: RunBox,
    shape: Sequence[int],
    source_shape: Sequence[int],
) -> RunBox:
    """
    Return a box contained in `box` under another shape. `axis_groups` pair the axes of
    the other shape and of this one that have the same elements.
    """
    reshaped = [SINGLE] * len(source_shape)
    for left, right in axis_groups:
        if len(left) == len(right) == 1:
            reshaped[left[0]] = box[right[0]]
        elif all(box[axis].length == shape[axis] for axis in right):
            for axis in left:
                reshaped[axis] = StridedRun(source_shape[axis])
    return tuple(reshaped)
