"""
Import of ATen batch normalizations that update statistics: decomposition in PyTorch,
before conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from tlf.frontend.torch.registry import library_decomposition_of

T: Any = torch

_NARROW = (torch.float16, torch.bfloat16)

_STATISTICS = slice(3, 5)
"""Positions of the running mean and the running variance in the arguments."""


def _widen_statistic(statistic: Tensor | None) -> Tensor | None:
    """Return a copy in f32 of a 16-bit statistic, and any other as it is."""
    if statistic is None or statistic.dtype not in _NARROW:
        return statistic
    return statistic.to(torch.float32)


def _decomposition_in_f32(
    operation: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], list[Tensor | None]]:
    """
    Apply PyTorch's decomposition with statistics in f32, where it rounds them once per
    step otherwise. Return its results, and the statistics that it was given.
    """
    statistics = [_widen_statistic(each) for each in arguments[_STATISTICS]]
    arguments = (*arguments[:3], *statistics, *arguments[5:])
    decompose = library_decomposition_of(operation)
    return tuple(decompose(*arguments, **options)), statistics


def _decompose_functional(operation: Any) -> Callable[..., tuple[Any, ...]]:
    """Return a decomposition whose last two results are the updated statistics."""

    def decompose(*arguments: Any, **options: Any) -> tuple[Any, ...]:
        results, _ = _decomposition_in_f32(operation, arguments, options)
        updated = [
            new.to(old.dtype)
            for new, old in zip(results[-2:], arguments[_STATISTICS], strict=True)
        ]
        return (*results[:-2], *updated)

    return decompose


def _decompose_in_place(operation: Any) -> Callable[..., tuple[Any, ...]]:
    """Return a decomposition that writes to the statistics."""

    def decompose(*arguments: Any, **options: Any) -> tuple[Any, ...]:
        results, updated = _decomposition_in_f32(operation, arguments, options)
        for old, new in zip(arguments[_STATISTICS], updated, strict=True):
            if old is not None and new is not old:
                old.copy_(new)
        return results

    return decompose


FUNCTIONAL_UPDATES: Mapping[Any, Callable[..., Any]] = {
    operation: _decompose_functional(operation)
    for operation in (
        T.ops.aten._native_batch_norm_legit_functional.default,
        T.ops.aten._batch_norm_with_update_functional.default,
    )
}
"""Decomposition of each batch normalization that returns updated statistics."""

UPDATES_IN_PLACE: Mapping[Any, Callable[..., Any]] = {
    operation: _decompose_in_place(operation)
    for operation in (
        T.ops.aten.native_batch_norm.default,
        T.ops.aten._native_batch_norm_legit.default,
        T.ops.aten._batch_norm_with_update.default,
    )
}
"""Decomposition of each batch normalization that writes to its statistics."""
