"""Axis orders of tensors in memory, as candidates for layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

Order: TypeAlias = tuple[int, ...]
"""Axes as they lie in memory, outermost first."""


def row_major(rank: int) -> Order:
    """The order of the axes themselves."""
    return tuple(range(rank))


def candidate_orders(shape: Sequence[int]) -> Iterator[Order]:
    """
    The row-major order, then those that move one axis to the end, such as the channels
    of an image. Orders that only move axes of one element are the same in memory.
    """
    plain = row_major(len(shape))
    seen = set[Order]()
    lasts = (with_axis_last(axis, len(shape)) for axis in reversed(plain[:-1]))
    for order in (plain, *lasts):
        key = tuple(axis for axis in order if shape[axis] > 1)
        if key not in seen:
            seen.add(key)
            yield order


def with_axis_last(axis: int, rank: int) -> Order:
    """The axes in their order, but for one that comes last."""
    return (*(each for each in range(rank) if each != axis), axis)
