"""
Analysis of affine accesses, without IR: minimum number of iterations that read some
indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tlf.support.affine.index_access import Accesses, IndexAccess


@dataclass(frozen=True)
class ReadingIterations:
    """Number of iterations that read an element of a box, at the worst-case offset."""

    values_per_iterator: tuple[int, ...]
    """Number of values of each iterator in these iterations."""
    iterations: int
    """Number of these iterations."""


def min_reading_iterations(
    accesses: Accesses,
    lengths: Sequence[int],
    extents: Sequence[int],
    shape: Sequence[int],
) -> ReadingIterations | None:
    """
    Return the iterations of a domain of the given extents that read an element of a box
    of `lengths` consecutive indices per axis of a tensor. None if there may be none, or
    if an iterator moves along two axes.
    """
    values, iterations = list(extents), 1
    free = set(range(len(extents)))
    for access, length, extent in zip(accesses, lengths, shape, strict=True):
        terms = tuple((factor, extents[each]) for each, factor in access.terms)
        moving = [each for each, _ in access.terms]
        if not free.issuperset(moving) or access.index is not None:
            return None
        found = _reading_iterations_on_axis(
            terms, access.offset, access.width, extent, length
        )
        if found is None or not found.iterations:
            return None
        free.difference_update(moving)
        iterations *= found.iterations
        for each, count in zip(moving, found.values_per_iterator, strict=True):
            values[each] = count
    return ReadingIterations(
        tuple(values), iterations * prod(extents[each] for each in free)
    )


@lru_cache(maxsize=1 << 12)
def _reading_iterations_on_axis(
    terms: tuple[tuple[int, int], ...],
    offset: int,
    width: int,
    extent: int,
    length: int,
) -> ReadingIterations | None:
    """
    Return the iterations that read one of `length` indices of an axis of `extent`
    elements. Each iterator is given by its distance and its number of values.
    """
    if not terms:
        is_read = min(offset + width, extent) - max(offset, 0) + length > extent
        return ReadingIterations((), 1) if is_read else None
    if width > 1:
        found = _reading_iterations_on_axis(
            (*terms, (1, width)), offset, 1, extent, length
        )
        return found and ReadingIterations(
            found.values_per_iterator[:-1], prod(found.values_per_iterator[:-1])
        )
    if len(terms) > 2:
        return None
    indices = np.array(offset, np.int64)
    for factor, count in terms:
        indices = np.add.outer(indices, factor * np.arange(count))
    in_bounds = (indices >= 0) & (indices < extent)
    reads = np.bincount(indices[in_bounds].reshape(-1), minlength=extent)
    iterations = int(_sums_of_neighbours(reads, length).min())
    return ReadingIterations(
        tuple(
            _min_distinct_values(terms, axis, offset, extent, length)
            if iterations
            else 0
            for axis in range(len(terms))
        ),
        iterations,
    )


def _min_distinct_values(
    terms: tuple[tuple[int, int], ...], axis: int, offset: int, extent: int, length: int
) -> int:
    """
    Return the minimum number of values of one iterator that read some of the indices.
    The reads of one value, for all values of the other iterator, are equidistant
    points; if their distance exceeds the number of indices, one value counts.
    """
    (factor, count), *other_terms = (terms[axis], *terms[:axis], *terms[axis + 1 :])
    step, points = other_terms[0] if other_terms else (1, 1)
    if points > 1 and step > length:
        return 1
    first = offset + factor * np.arange(count)
    starts = np.arange(extent - length + 1)
    below = np.searchsorted(first + step * (points - 1), starts)
    return int((np.searchsorted(first, starts + length) - below).min())


def min_used_taps(
    access: IndexAccess,
    extents: Sequence[int],
    extent: int,
    tap_iterator: int,
    length: int,
) -> int:
    """
    Return the minimum number of values of the iterator `tap_iterator` that read an
    index of an axis of `extent` elements, for `length` neighbouring values of the other
    iterators, at any offset.
    """
    positions = np.zeros(1, np.int64)
    for each, factor in access.terms:
        if each != tap_iterator:
            steps = factor * np.arange(extents[each])
            positions = np.add.outer(positions, steps).reshape(-1)
    (factor,) = (factor for each, factor in access.terms if each == tap_iterator)
    read = access.offset + np.add.outer(
        factor * np.arange(extents[tap_iterator]), positions
    )
    in_bounds = (read > -access.width) & (read < extent)
    used = [
        _sums_of_neighbours(each, min(length, len(positions))) > 0 for each in in_bounds
    ]
    return int(np.sum(used, axis=0).min())


def _sums_of_neighbours(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the sum of `length` neighbours at each position."""
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return sums[length:] - sums[:-length]
