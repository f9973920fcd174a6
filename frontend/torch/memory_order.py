"""
Import of PyTorch tensors: memory order of their axes, derived from strides, without IR.
"""

from __future__ import annotations

import torch


def axis_order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """
    Return the axes of a tensor or fake tensor in memory order, outermost first; `None`
    for row-major order, and for elements that are not dense in memory.
    """
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    axes = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    nontrivial = [axis for axis in axes if shape[axis] > 1]
    if nontrivial == sorted(nontrivial):
        return None
    step = 1
    for axis in reversed(nontrivial):
        if strides[axis] != step:
            return None
        step *= shape[axis]
    return axes


def is_dense(tensor: torch.Tensor) -> bool:
    """
    Return `True` if elements are dense in memory, each at its own offset, in any order
    of axes.
    """
    return tensor.is_contiguous() or axis_order_of(tensor) is not None
