"""
Import of PyTorch: ATen operations that are preserved from decomposition in tracing.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

import torch

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.registry import CONVERTERS

_LIBRARY: Any = torch

_KEYS = ("Autograd", "CompositeImplicitAutograd")
"""Dispatch keys of PyTorch's Python functions that precede decomposition tables."""


@cache
def converted_operations_with_python_kernels() -> frozenset[Any]:
    """
    Return the operations with a converter that PyTorch decomposes by Python functions,
    whatever the decomposition table: resampling. The functions of nearest resampling
    select other elements than the kernels, and those of linear resampling hide it.
    """
    return frozenset(
        operation
        for operation in CONVERTERS
        if any(key in operation.py_kernels for key in _python_kernel_keys())
    )


def _python_kernel_keys() -> list[Any]:
    return [getattr(_LIBRARY._C.DispatchKey, name) for name in _KEYS]


_TRACING = RLock()
"""Lock while PyTorch's tables, which all threads share, lack kernels."""


@contextmanager
def preserve_converted_operations() -> Generator[None]:
    """
    Preserve operations that have a converter from decomposition in traces inside of the
    context.
    """
    with _TRACING:
        yield from _remove_python_kernels(converted_operations_with_python_kernels())


def _remove_python_kernels(operations: Collection[Any]) -> Generator[None]:
    """
    Remove Python kernels of `operations` from PyTorch's tables, and restore them after
    the yield.
    """
    keys = _python_kernel_keys()
    before = {each: dict(each.py_kernels) for each in operations}
    for operation in operations:
        for key in keys:
            operation.py_kernels.pop(key, None)
        operation._dispatch_cache.clear()
    try:
        yield
    finally:
        for operation, kernels in before.items():
            operation.py_kernels.update(kernels)
            operation._dispatch_cache.clear()
