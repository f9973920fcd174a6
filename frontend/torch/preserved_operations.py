"""
Import of PyTorch: ATen operations that are preserved from decomposition in tracing.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import torch

from tlf.frontend.torch.registry import find_aten_overload

_LIBRARY: Any = torch

_KEYS = ("Autograd", "CompositeImplicitAutograd")
"""Dispatch keys of PyTorch's Python functions that precede decomposition tables."""

NEAREST = frozenset(
    find_aten_overload(f"{name}{rank}d.{form}")
    for name in ("upsample_nearest", "_upsample_nearest_exact")
    for rank in (1, 2, 3)
    for form in ("default", "vec")
)
"""Nearest resampling: the Python functions select other elements than the kernels."""


_TRACING = RLock()
"""Lock while PyTorch's tables, which all threads share, lack kernels."""


@contextmanager
def preserve_operations(operations: Collection[Any] = NEAREST) -> Generator[None]:
    """Preserve operations from decomposition in traces inside of the context."""
    with _TRACING:
        yield from _remove_python_kernels(operations)


def _remove_python_kernels(operations: Collection[Any]) -> Generator[None]:
    """
    Remove Python kernels of `operations` from PyTorch's tables, and restore them after
    the yield.
    """
    keys = [getattr(_LIBRARY._C.DispatchKey, name) for name in _KEYS]
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
