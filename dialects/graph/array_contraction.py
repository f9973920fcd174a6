"""
Reference of the contraction operations of the `graph` dialect on numpy arrays, without
IR: batched matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

import numpy as np

from tlf.dialects.interfaces import Array

Axes = Sequence[int]


def contract_arrays(
    lhs: Array, lhs_axes: Axes, rhs: Array, rhs_axes: Axes, result_axes: Axes
) -> Array:
    """
    Contract two arrays over all axes that `result_axes` lacks. `left`, `right` and
    `result_axes` are the labels of axes, as in `np.einsum`.
    """
    labels = {*lhs_axes, *rhs_axes}
    unpaired = {axis for axis in labels if (axis in lhs_axes) != (axis in rhs_axes)}
    if not unpaired <= set(result_axes):
        einsum = cast(Callable[..., Array], np.einsum)
        return einsum(lhs, lhs_axes, rhs, rhs_axes, result_axes)
    batch = [axis for axis in result_axes if axis in lhs_axes and axis in rhs_axes]
    rows = [axis for axis in result_axes if axis not in rhs_axes]
    columns = [axis for axis in result_axes if axis not in lhs_axes]
    summed = [axis for axis in lhs_axes if axis not in result_axes]
    extents = dict(zip(lhs_axes, lhs.shape, strict=True))
    extents.update(zip(rhs_axes, rhs.shape, strict=True))

    def matrices(array: Array, axes: Axes, first: Axes, second: Axes) -> Array:
        order = [axes.index(axis) for axis in (*batch, *first, *second)]
        sizes = [prod(extents[a] for a in group) for group in (batch, first, second)]
        return array.transpose(order).reshape(sizes)

    product = np.matmul(
        matrices(lhs, lhs_axes, rows, summed), matrices(rhs, rhs_axes, summed, columns)
    )
    order = [*batch, *rows, *columns]
    contracted = product.reshape([extents[axis] for axis in order])
    return contracted.transpose([order.index(axis) for axis in result_axes])
