"""Decomposition of the inverse of maximum pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

T: Any = torch


def _max_unpool2d(x: Tensor, indices: Tensor, size: Sequence[int]) -> Tensor:
    """As PyTorch has it, but the result lies in memory as `x` does."""
    operation = T.ops.aten.max_unpool2d.default
    table = import_module("torch._decomp").decomposition_table
    order = import_module("torch._prims_common").suggest_memory_format(x)
    return table[operation](x, indices, size).contiguous(memory_format=order)


UNPOOLING: Mapping[Any, Callable[..., Any]] = {
    T.ops.aten.max_unpool2d.default: _max_unpool2d,
}
"""Decomposition of each operation that puts maxima back."""
