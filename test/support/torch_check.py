"""Compiled modules against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

TOLERANCES = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}


class Module(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def tensors(value: Any) -> list[Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, Tensor):
        return [value]
    return [tensor for each in value for tensor in tensors(each)]


def assert_close(
    found: Any, expected: Any, tolerance: float, relative_to_all: bool = False
) -> None:
    """
    Compare results by shape, dtype and value: each element, or with `relative_to_all`
    the norm of the difference to that of the tensor.
    """
    pairs: Sequence[tuple[Tensor, Tensor]] = [
        *zip(tensors(found), tensors(expected), strict=True)
    ]
    for mine, theirs in pairs:
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if not relative_to_all:
            torch.testing.assert_close(
                mine, theirs, rtol=tolerance, atol=tolerance, equal_nan=True
            )
            continue
        size = theirs.double().norm()
        assert (mine.double() - theirs.double()).norm() <= tolerance * size
