"""Registry of the functions that convert ATen operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

Converter = Callable[..., Any]
"""From an emitter and the arguments of the operation, tensors among them as values, to
the value of the result, or a tuple of them."""

CONVERTERS: dict[Any, Converter] = {}
"""The converter of each overload of `torch.ops.aten`."""

Function = TypeVar("Function", bound=Converter)


def overload(name: str) -> Any:
    """The overload `name`, such as `add.Tensor`, of ATen."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), variant or "default")


def converts(*names: str) -> Callable[[Function], Function]:
    """Register a function as the converter of overloads, as `add.Tensor`."""

    def register(function: Function) -> Function:
        for name in names:
            CONVERTERS[overload(name)] = function
        return function

    return register
