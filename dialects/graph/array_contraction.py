"""Numpy reference of contraction operations: batched matrix products of two arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

import numpy as np

from tlf.dialects.interfaces import Array

Axes = Sequence[int]


def contract_arrays(
    lhs: Array, left: Axes, rhs: Array, right: Axes, result: Axes
) -> Array:
    """
    Contract two arrays over all axes that `result` lacks. `left`, `right` and `result`
    are the labels of axes, as in `np.einsum`.
    """
    labels = {*left, *right}
    unpaired = {axis for axis in labels if (axis in left) != (axis in right)}
    if not unpaired <= set(result):
        einsum = cast(Callable[..., Array], np.einsum)
        return einsum(lhs, left, rhs, right, result)
    batch = [axis for axis in result if axis in left and axis in right]
    rows = [axis for axis in result if axis not in right]
    columns = [axis for axis in result if axis not in left]
    summed = [axis for axis in left if axis not in result]
    extents = dict(zip(left, lhs.shape, strict=True))
    extents.update(zip(right, rhs.shape, strict=True))

    def matrices(array: Array, axes: Axes, first: Axes, second: Axes) -> Array:
        order = [axes.index(axis) for axis in (*batch, *first, *second)]
        sizes = [prod(extents[a] for a in group) for group in (batch, first, second)]
        return array.transpose(order).reshape(sizes)

    product = np.matmul(
        matrices(lhs, left, rows, summed), matrices(rhs, right, summed, columns)
    )
    order = [*batch, *rows, *columns]
    contracted = product.reshape([extents[axis] for axis in order])
    return contracted.transpose([order.index(axis) for axis in result])
