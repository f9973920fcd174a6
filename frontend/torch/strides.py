"""The order of axes in memory that the strides of a tensor tell."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """
    The axes of a tensor, or of a fake one, as they lie in memory, outermost first; None
    for row-major order, and for elements that do not lie side by side.
    """
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    axes = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    apart = [axis for axis in axes if shape[axis] > 1]
    if apart == sorted(apart):
        return None
    step = 1
    for axis in reversed(apart):
        if strides[axis] != step:
            return None
        step *= shape[axis]
    return axes


def lying(tensor: torch.Tensor, order: Sequence[int] | None) -> torch.Tensor:
    """The elements of a tensor with its axes in an order in memory, if one is given."""
    if order is None:
        return tensor
    places = sorted(range(len(order)), key=lambda place: order[place])
    return tensor.permute(tuple(order)).contiguous().permute(places)
