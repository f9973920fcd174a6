"""
Import of PyTorch tensors: memory order of their axes, derived from strides, without IR.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def with_axis_order(tensor: torch.Tensor, order: Sequence[int] | None) -> torch.Tensor:
    """
    Return a tensor of the same shape and elements with `order` as its axes in memory,
    outermost first; `tensor` itself for None.
    """
    if order is None:
        return tensor
    inverse = sorted(range(len(order)), key=lambda axis: order[axis])
    return tensor.permute(tuple(order)).contiguous().permute(inverse)


def with_strides(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """
    Return the elements of a tensor with given strides, which may have gaps and repeat
    elements along an axis. The tensor is returned unchanged if other elements share
    memory.
    """
    shape = tuple(tensor.shape)
    if all(
        have == want or extent == 1
        for have, want, extent in zip(tensor.stride(), strides, shape, strict=True)
    ):
        return tensor
    unique = tensor
    for axis, stride in enumerate(strides):
        if stride == 0:
            unique = unique.narrow(axis, 0, 1)
    if _may_share_offsets(tuple(unique.shape), strides):
        return tensor
    result = torch.empty_strided(
        tuple(unique.shape), tuple(strides), dtype=tensor.dtype, device=tensor.device
    )
    return result.copy_(unique).expand(shape)


def _may_share_offsets(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """
    Return `True` unless the strides prove that all elements have distinct offsets.
    """
    reach = 0
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and stride <= reach:
            return True
        reach += (extent - 1) * stride
    return False
