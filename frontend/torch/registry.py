"""Registry of the functions that convert ATen operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import torch

Converter = Callable[..., Any]
"""From an emitter and the arguments of the operation, tensors among them as values, to
the value of the result, or a tuple of them."""

Function = TypeVar("Function", bound=Converter)


class ConverterRegistry(Mapping[Any, Converter]):
    """
    The converter of each overload of `torch.ops.aten`. The modules of `aten` enter them
    when they are imported; then the registry is closed.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Converter] = {}
        self._is_closed = False

    def __getitem__(self, operation: Any) -> Converter:
        return self._known[operation]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, operation: Any, converter: Converter) -> None:
        """Enter a converter. Raises `RuntimeError` once the registry is closed."""
        if self._is_closed:
            raise RuntimeError(f"expected no converter of {operation} after import")
        self._known[operation] = converter

    def close(self) -> None:
        """Let nothing be entered any more."""
        self._is_closed = True


CONVERTERS = ConverterRegistry()


def overload(name: str) -> Any:
    """The overload `name`, such as `add.Tensor`, of ATen."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), variant or "default")


def converts(*names: str) -> Callable[[Function], Function]:
    """Register a function as the converter of overloads, as `add.Tensor`."""

    def register(function: Function) -> Function:
        for name in names:
            CONVERTERS.add(overload(name), function)
        return function

    return register
