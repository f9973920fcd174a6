"""
Import of ATen unpooling: decomposition of the inverse of maximum pooling in PyTorch,
before conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from tlf.frontend.torch.registry import library_decomposition_of

T: Any = torch


def _decompose_max_unpool2d(x: Tensor, indices: Tensor, size: Sequence[int]) -> Tensor:
    """Apply PyTorch's decomposition; the result has the memory format of `x`."""
    operation = T.ops.aten.max_unpool2d.default
    decompose = library_decomposition_of(operation)
    order = import_module("torch._prims_common").suggest_memory_format(x)
    return decompose(x, indices, size).contiguous(memory_format=order)


UNPOOLING: Mapping[Any, Callable[..., Any]] = {
    T.ops.aten.max_unpool2d.default: _decompose_max_unpool2d,
}
"""Decomposition of each unpooling operation."""
