"""
Accesses of a collapsed iteration domain, without IR: an index along each axis of a
value is delinearized into the digits that a linear access reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tlf.support.affine.index_access import Accesses

Basis: TypeAlias = tuple[tuple[int, ...], ...]
"""Extents of the domain dimensions that are collapsed to each axis of a value."""


_DigitFactors: TypeAlias = tuple[int, tuple[int, ...]]
"""Extent of a digit, and its factor along each axis of a source."""


@dataclass(frozen=True)
class Digit:
    """Domain dimension: digit `index // stride % extent` of the index along `axis`."""

    axis: int
    stride: int
    extent: int
    is_outermost: bool
    """True for the first digit of an axis, which needs no remainder."""


@dataclass(frozen=True)
class DelinearizedAccess:
    """
    Linear accesses, one per axis of a source, over a domain whose dimensions are the
    digits of the indices along the axes of a value, in row-major order.
    """

    accesses: Accesses
    basis: Basis

    @cached_property
    def domain_extents(self) -> tuple[int, ...]:
        """Extent of each dimension of the domain."""
        return tuple(extent for digits in self.basis for extent in digits)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value: the product of the extents collapsed to each axis."""
        return tuple(map(prod, self.basis))

    @cached_property
    def digits(self) -> tuple[Digit, ...]:
        """Digit of each dimension of the domain."""
        return tuple(
            Digit(axis, prod(extents[position + 1 :]), extent, position == 0)
            for axis, extents in enumerate(self.basis)
            for position, extent in enumerate(extents)
        )

    def reads_out_of_bounds(self, source_shape: Sequence[int]) -> bool:
        """Return `True` if an element is read from outside of a source."""
        return any(
            low < 0 or high >= extent
            for access, extent in zip(self.accesses, source_shape, strict=True)
            for low, high in (access.index_bounds(self.domain_extents),)
        )

    def is_row_major(self, source_shape: Sequence[int]) -> bool:
        """
        Return `True` if each element of a source is read once, in row-major order.
        """
        if self.reads_out_of_bounds(source_shape):
            return False
        if prod(self.domain_extents) != prod(source_shape):
            return False
        distances = [0] * len(self.domain_extents)
        for axis, access in enumerate(self.accesses):
            for dimension, factor in access.terms:
                distances[dimension] += factor * prod(source_shape[axis + 1 :])
        extents = self.domain_extents
        return all(
            extent == 1 or distance == prod(extents[dimension + 1 :])
            for dimension, (extent, distance) in enumerate(
                zip(extents, distances, strict=True)
            )
        )

    def reshape_value(self, shape: Sequence[int]) -> DelinearizedAccess | None:
        """
        Return the access of the value's elements under another shape, in row-major
        order; `None` if a digit does not divide between axes.
        """
        remaining = [each for each in self._factors_of_digits() if each[0] > 1]
        lists: list[list[_DigitFactors]] = []
        for extent in shape:
            if (taken := _take_digits(remaining, extent)) is None:
                return None
            lists.append(taken)
        return None if remaining else self._with_digits(lists)

    def merge_digits(self) -> DelinearizedAccess:
        """
        Return the same access with the fewest digits: without those of extent 1, and
        with neighbours that are read at equal distances as one.
        """
        lists = self._digits_by_axis()
        return self._with_digits([_merge_digits_of_axis(digits) for digits in lists])

    def alternate(self, axis: int, count: int, start: int) -> DelinearizedAccess | None:
        """
        Return the access of every `count`-th index along an axis of the value, from
        `start` on; `None` if these are in several places of the axis's last digit.
        """
        lists = self._digits_by_axis()
        extent, column = lists[axis][-1]
        if extent % count:
            return None
        steps = tuple(factor * count for factor in column)
        lists[axis][-1] = extent // count, steps
        return self._with_digits(lists)._shifted_by([start * each for each in column])

    def fix_index(self, axis: int, index: int) -> DelinearizedAccess:
        """Return the access at one index along an axis of the value, of extent 1."""
        lists = self._digits_by_axis()
        offsets = [0] * len(self.accesses)
        for extent, column in reversed(lists[axis]):
            index, value = divmod(index, extent)
            offsets = [n + value * factor for n, factor in zip(offsets, column)]
        lists[axis] = []
        return self._with_digits(lists)._shifted_by(offsets)

    def _shifted_by(self, offsets: Sequence[int]) -> DelinearizedAccess:
        """Return the access with offsets added along the axes of the source."""
        pairs = zip(self.accesses, offsets, strict=True)
        moved = tuple(replace(each, offset=each.offset + n) for each, n in pairs)
        return DelinearizedAccess(moved, self.basis)

    def _digits_by_axis(self) -> list[list[_DigitFactors]]:
        """Return the digits along each axis of the value, with their factors."""
        factors = iter(self._factors_of_digits())
        return [[next(factors) for _ in extents] for extents in self.basis]

    def _with_digits(self, lists: Sequence[list[_DigitFactors]]) -> DelinearizedAccess:
        """Return the access with other digits along each axis of the value."""
        unit = (1, (0,) * len(self.accesses))
        filled = [digits or [unit] for digits in lists]
        columns = [column for digits in filled for _, column in digits]
        accesses = tuple(
            replace(access, terms=_nonzero_terms([each[axis] for each in columns]))
            for axis, access in enumerate(self.accesses)
        )
        basis = tuple(tuple(extent for extent, _ in digits) for digits in filled)
        return DelinearizedAccess(accesses, basis)

    def _factors_of_digits(self) -> list[_DigitFactors]:
        """Return the extent of each digit, and its factor along each source axis."""
        return [
            (extent, tuple(each.coefficient_of(dimension) for each in self.accesses))
            for dimension, extent in enumerate(self.domain_extents)
        ]

    def digit_spans(self, tile_sizes: Sequence[int]) -> tuple[int, ...]:
        """
        Return the number of values that each digit takes in a tile whose offsets are
        multiples of its sizes, at most.
        """
        spans: list[int] = []
        for digit in self.digits:
            size = min(tile_sizes[digit.axis], self.shape[digit.axis])
            if digit.stride % size == 0:
                spans.append(1)
            elif size % digit.stride == 0:
                spans.append(min(digit.extent, self._whole_digit_span(digit, size)))
            else:
                spans.append(min(digit.extent, (size - 2) // digit.stride + 2))
        return tuple(spans)

    @staticmethod
    def _whole_digit_span(digit: Digit, size: int) -> int:
        """Return the values of a digit in a tile of whole multiples of its stride."""
        return size // digit.stride

    def gather_elements(
        self,
        source: NDArray[np.generic],
        offsets: Sequence[int],
        sizes: Sequence[int],
        fill: object,
    ) -> NDArray[np.generic]:
        """
        Return the elements of a box of the value at `offsets`; `fill` for positions
        outside of the source, and beyond the value.
        """
        positions = [
            (offset + np.arange(size)).reshape(
                [-1 if axis == other else 1 for other in range(len(sizes))]
            )
            for axis, (offset, size) in enumerate(zip(offsets, sizes, strict=True))
        ]
        inside = np.ones(tuple(sizes), np.bool_)
        for position, extent in zip(positions, self.shape, strict=True):
            inside &= (position >= 0) & (position < extent)
        index: list[NDArray[np.intp]] = []
        for access, extent in zip(self.accesses, source.shape, strict=True):
            at = np.full((1,) * len(sizes), access.offset, np.intp)
            for dimension, factor in access.terms:
                digit = self.digits[dimension]
                at = at + positions[digit.axis] // digit.stride % digit.extent * factor
            inside &= (at >= 0) & (at < extent)
            index.append(np.clip(at, 0, max(extent - 1, 0)))
        result = np.full(tuple(sizes), fill, source.dtype)
        if source.size:
            elements = np.broadcast_to(source[tuple(index)], tuple(sizes))
            result[inside] = elements[inside]
        return result


def _take_digits(
    remaining: list[_DigitFactors], extent: int
) -> list[_DigitFactors] | None:
    """
    Remove the first digits with the product `extent` from a list, and return them; the
    last one may be the outer part of a digit. Return `None` if there are none.
    """
    taken: list[_DigitFactors] = []
    while extent > 1 and remaining:
        size, column = remaining.pop(0)
        if extent % size == 0:
            taken.append((size, column))
            extent //= size
        elif size % extent == 0:
            inner = size // extent
            taken.append((extent, tuple(factor * inner for factor in column)))
            remaining.insert(0, (inner, column))
            extent = 1
        else:
            return None
    return taken if extent == 1 else None


def _merge_digits_of_axis(digits: Sequence[_DigitFactors]) -> list[_DigitFactors]:
    """Return digits with those merged that one digit can replace."""
    merged: list[_DigitFactors] = []
    for extent, column in digits:
        if extent == 1:
            continue
        if merged and merged[-1][1] == tuple(factor * extent for factor in column):
            merged[-1] = (merged[-1][0] * extent, column)
        else:
            merged.append((extent, column))
    return merged


def _nonzero_terms(factors: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the dimensions with a factor other than 0, with their factors."""
    return tuple((n, factor) for n, factor in enumerate(factors) if factor)
