"""Import of ATen embedding bags: decomposition in PyTorch, before conversion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

T: Any = torch

_SUM, _MEAN, _MAX = 0, 1, 2


def _decompose_embedding_bag(
    table: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:
    """
    Reduce the rows of each bag. `offsets` has the start of each bag in the indices;
    padding indices belong to no bag.
    """
    starts = offsets[:-1] if include_last_offset else offsets
    positions = torch.arange(
        indices.shape[0], dtype=offsets.dtype, device=offsets.device
    )
    bag: Tensor = (positions[:, None] >= starts).sum(1) - 1
    wide = torch.float32 if table.dtype.itemsize == 2 else table.dtype
    rows = table[indices].to(wide)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    is_counted = (indices != padding_idx)[:, None]
    shape = (starts.shape[0], table.shape[1])
    size: Tensor = T.zeros(shape[0], 1, dtype=wide).index_add(
        0, bag, is_counted.to(wide)
    )
    if mode == _MAX:
        result: Tensor = _reduce_bags_to_maximum(
            rows, bag, is_counted, size, shape, wide
        )
    else:
        result = T.zeros(shape, dtype=wide).index_add(
            0, bag, rows.masked_fill(~is_counted, 0)
        )
        result = result / size.clamp(min=1) if mode == _MEAN else result
    sizes = size[:, 0].to(offsets.dtype)
    return result.to(table.dtype), bag, sizes, sizes


def _reduce_bags_to_maximum(
    rows: Tensor,
    bag: Tensor,
    is_counted: Tensor,
    size: Tensor,
    shape: tuple[int, int],
    wide: torch.dtype,
) -> Tensor:
    """Return the maximum of the counted rows of each bag, 0 for an empty bag."""
    minimum = torch.finfo(wide).min
    targets = bag[:, None].expand(rows.shape)
    result: Tensor = T.full(shape, minimum, dtype=wide).scatter_reduce(
        0, targets, rows.masked_fill(~is_counted, minimum), "amax"
    )
    return result.masked_fill(size == 0, 0)


EMBEDDING_BAGS: Mapping[Any, Callable[..., Any]] = {
    T.ops.aten._embedding_bag.default: _decompose_embedding_bag,
    T.ops.aten._embedding_bag_forward_only.default: _decompose_embedding_bag,
}
"""Decomposition of each embedding bag operation."""
