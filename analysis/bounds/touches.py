"""Iterations that read some indices of an axis, of which only the number is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tlf.support.affine.access import Access, Accesses


@dataclass(frozen=True)
class Touch:
    """The iterations that read an element of a box, the least wherever the box is."""

    values: tuple[int, ...]
    """By iterator, with how many of its values."""
    iterations: int
    """Number of these iterations."""


def touch(
    accesses: Accesses,
    lengths: Sequence[int],
    extents: Sequence[int],
    shape: Sequence[int],
) -> Touch | None:
    """
    The iterations of a domain of the given extents that read some of a box: so many
    indices of each axis of a tensor, one after the other. None where there may be none,
    or where an iterator moves along two axes.
    """
    values, iterations = list(extents), 1
    free = set(range(len(extents)))
    for access, length, extent in zip(accesses, lengths, shape, strict=True):
        terms = tuple((factor, extents[each]) for each, factor in access.terms)
        moving = [each for each, _ in access.terms]
        if not free.issuperset(moving) or access.index is not None:
            return None
        found = _touched(terms, access.offset, access.width, extent, length)
        if found is None or not found.iterations:
            return None
        free.difference_update(moving)
        iterations *= found.iterations
        for each, count in zip(moving, found.values, strict=True):
            values[each] = count
    return Touch(tuple(values), iterations * prod(extents[each] for each in free))


@lru_cache(maxsize=1 << 12)
def _touched(
    terms: tuple[tuple[int, int], ...],
    offset: int,
    width: int,
    extent: int,
    length: int,
) -> Touch | None:
    """
    The same along one axis of `extent` elements, of iterators given by the distance and
    the number of their values.
    """
    if not terms:
        is_read = min(offset + width, extent) - max(offset, 0) + length > extent
        return Touch((), 1) if is_read else None
    if width > 1:
        found = _touched((*terms, (1, width)), offset, 1, extent, length)
        return found and Touch(found.values[:-1], prod(found.values[:-1]))
    if len(terms) > 2:
        return None
    indices = np.array(offset, np.int64)
    for factor, count in terms:
        indices = np.add.outer(indices, factor * np.arange(count))
    inside = (indices >= 0) & (indices < extent)
    reads = np.bincount(indices[inside].reshape(-1), minlength=extent)
    iterations = int(_windows(reads, length).min())
    return Touch(
        tuple(
            _distinct(terms, axis, offset, extent, length) if iterations else 0
            for axis in range(len(terms))
        ),
        iterations,
    )


def _distinct(
    terms: tuple[tuple[int, int], ...], axis: int, offset: int, extent: int, length: int
) -> int:
    """
    Return the number of values of one iterator that read some of the indices. Their
    reads with all values of the other iterator are points at equal distances; if that
    distance is greater than the number of indices, one value counts.
    """
    (factor, count), *others = (terms[axis], *terms[:axis], *terms[axis + 1 :])
    step, points = others[0] if others else (1, 1)
    if points > 1 and step > length:
        return 1
    first = offset + factor * np.arange(count)
    starts = np.arange(extent - length + 1)
    below = np.searchsorted(first + step * (points - 1), starts)
    return int((np.searchsorted(first, starts + length) - below).min())


def used_taps(
    access: Access, extents: Sequence[int], extent: int, tap: int, length: int
) -> int:
    """
    Return the number of values of the iterator `tap` that read an index of an axis of
    `extent` elements, for `length` neighbouring values of the other iterators, at any
    offset.
    """
    places = np.zeros(1, np.int64)
    for each, factor in access.terms:
        if each != tap:
            steps = factor * np.arange(extents[each])
            places = np.add.outer(places, steps).reshape(-1)
    (factor,) = (factor for each, factor in access.terms if each == tap)
    read = access.offset + np.add.outer(factor * np.arange(extents[tap]), places)
    inside = (read > -access.width) & (read < extent)
    used = [_windows(each, min(length, len(places))) > 0 for each in inside]
    return int(np.sum(used, axis=0).min())


def _windows(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """The sums of so many neighbours, for each place."""
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return sums[length:] - sums[:-length]
