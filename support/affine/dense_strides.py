"""Strides of tensors that are dense in memory, in any order of axes, without IR."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.support.affine.axis_orders import Order


def strides_in_axis_order(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    """
    Return the strides in elements of a dense tensor whose axes are in memory in
    `order`, outermost first.
    """
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def axis_order_of_strides(shape: Sequence[int], strides: Sequence[int]) -> Order | None:
    """
    Return the axes of a tensor in memory order, outermost first; `None` for elements
    that are not dense in memory. Axes of one element may have any stride.
    """
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    step = 1
    for axis in reversed(order):
        if shape[axis] == 1:
            continue
        if strides[axis] != step:
            return None
        step *= shape[axis]
    return order


def is_row_major_in_memory(shape: Sequence[int], order: Order) -> bool:
    """
    Return `True` if an axis order differs from the row-major one in axes of one element
    at most.
    """
    nontrivial = [axis for axis in order if shape[axis] != 1]
    return nontrivial == sorted(nontrivial)


def address_equally(
    shape: Sequence[int], strides: Sequence[int], other_strides: Sequence[int]
) -> bool:
    """
    Return `True` if strides address the same elements as others: they may differ in
    axes of one element, and for an empty tensor.
    """
    return 0 in shape or all(
        extent == 1 or one == other
        for extent, one, other in zip(shape, strides, other_strides, strict=True)
    )
