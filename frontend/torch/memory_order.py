"""Memory order of the axes of tensors, derived from their strides."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def axis_order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
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


def is_dense(tensor: torch.Tensor) -> bool:
    """
    Return `True` if elements are dense in memory, each at its own offset, in any order
    of axes.
    """
    return tensor.is_contiguous() or axis_order_of(tensor) is not None


def with_axis_order(tensor: torch.Tensor, order: Sequence[int] | None) -> torch.Tensor:
    """Return a tensor with its axes in a memory order, if one is given."""
    if order is None:
        return tensor
    places = sorted(range(len(order)), key=lambda place: order[place])
    return tensor.permute(tuple(order)).contiguous().permute(places)


def with_strides(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """
    The elements of a tensor with strides, which may leave gaps and repeat elements.
    Other elements that share memory are left as they lie.
    """
    shape = tuple(tensor.shape)
    if all(
        have == want or extent == 1
        for have, want, extent in zip(tensor.stride(), strides, shape, strict=True)
    ):
        return tensor
    kept = tensor
    for axis, stride in enumerate(strides):
        if stride == 0:
            kept = kept.narrow(axis, 0, 1)
    if _has_overlap(tuple(kept.shape), strides):
        return tensor
    made = torch.empty_strided(
        tuple(kept.shape), tuple(strides), dtype=tensor.dtype, device=tensor.device
    )
    return made.copy_(kept).expand(shape)


def _has_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return `True` if some elements may share an offset in memory."""
    reach = 0
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and stride <= reach:
            return True
        reach += (extent - 1) * stride
    return False
