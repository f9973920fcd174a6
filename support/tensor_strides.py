"""Copies of PyTorch tensors with another memory order or other strides, without IR."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tlf.support.affine.axis_orders import inverse_order


def with_axis_order(tensor: torch.Tensor, order: Sequence[int] | None) -> torch.Tensor:
    """
    Return a tensor of the same shape and elements with `order` as its axes in memory,
    outermost first; `tensor` itself if it is in this order, and for None.
    """
    if order is None:
        return tensor
    axes = tuple(order)
    if (physical := tensor.permute(axes)).is_contiguous():
        return tensor
    return physical.contiguous().permute(inverse_order(axes))


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
