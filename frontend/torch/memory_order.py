"""
Import of PyTorch tensors: memory order of their axes, derived from strides, without IR.
"""

from __future__ import annotations

import torch

from tlf.support.affine.dense_strides import (
    axis_order_of_strides,
    is_row_major_in_memory,
)


def axis_order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """
    Return the axes of a tensor or fake tensor in memory order, outermost first; `None`
    for row-major order, and for elements that are not dense in memory.
    """
    shape = tuple(tensor.shape)
    order = axis_order_of_strides(shape, tuple(tensor.stride()))
    if order is None or is_row_major_in_memory(shape, order):
        return None
    return order


def is_dense(tensor: torch.Tensor) -> bool:
    """
    Return `True` if elements are dense in memory, each at its own offset, in any order
    of axes.
    """
    return tensor.is_contiguous() or axis_order_of(tensor) is not None
