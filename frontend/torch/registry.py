"""
Import of ATen operations from PyTorch: registry of the converters of all operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

import torch

Converter = Callable[..., Any]
"""
Function from an emitter and the arguments of an operation, with tensors as values, to
the value of the result, or a tuple of values.
"""

Function = TypeVar("Function", bound=Converter)


class ConverterRegistry(Mapping[Any, Converter]):
    """
    Converters of the overloads of `torch.ops.aten`. The modules of `aten` register them
    on import; then the registry is closed.
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

    def register_converter(self, operation: Any, converter: Converter) -> None:
        """Register a converter. Raises `RuntimeError` once the registry is closed."""
        if self._is_closed:
            raise RuntimeError(f"expected no converter of {operation} after import")
        self._known[operation] = converter

    def close(self) -> None:
        """Close the registry: further converters are rejected."""
        self._is_closed = True


CONVERTERS = ConverterRegistry()


def find_aten_overload(name: str) -> Any:
    """Return the ATen overload `name`, such as `add.Tensor`."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), variant or "default")


def library_decomposition_of(operation: Any) -> Callable[..., Any]:
    """Return PyTorch's own decomposition of an ATen overload."""
    return import_module("torch._decomp").decomposition_table[operation]


def register_as_converter(*names: str) -> Callable[[Function], Function]:
    """Register a function as the converter of overloads such as `add.Tensor`."""

    def register(function: Function) -> Function:
        for name in names:
            CONVERTERS.register_converter(find_aten_overload(name), function)
        return function

    return register
