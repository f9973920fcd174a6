"""Axis orders of tensors in memory, the candidate layouts, without IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

Order: TypeAlias = tuple[int, ...]
"""Axes in memory order, outermost first."""


def row_major_order(rank: int) -> Order:
    """Return the row-major order of `rank` axes."""
    return tuple(range(rank))


def candidate_axis_orders(shape: Sequence[int]) -> Iterator[Order]:
    """
    Yield the row-major order, then the orders that move one axis to the end, such as
    the channels of an image. Orders that differ only in axes of one element are equal
    in memory and are yielded once.
    """
    plain = row_major_order(len(shape))
    visited = set[Order]()
    moved_last = (
        order_with_axis_last(axis, len(shape)) for axis in reversed(plain[:-1])
    )
    for order in (plain, *moved_last):
        key = tuple(axis for axis in order if shape[axis] > 1)
        if key not in visited:
            visited.add(key)
            yield order


def order_with_axis_last(axis: int, rank: int) -> Order:
    """Return the row-major order with `axis` moved to the end."""
    return (*(each for each in range(rank) if each != axis), axis)


def inverse_order(order: Order) -> Order:
    """Return the inverse permutation: the position in `order` of each axis."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
