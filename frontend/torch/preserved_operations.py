"""Operations that are preserved from decomposition during tracing."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import torch

from tlf.frontend.torch.registry import overload

_LIBRARY: Any = torch

_KEYS = ("Autograd", "CompositeImplicitAutograd")
"""Those of functions of PyTorch in Python that come before tables of decompositions."""

NEAREST = frozenset(
    overload(f"{name}{rank}d.{form}")
    for name in ("upsample_nearest", "_upsample_nearest_exact")
    for rank in (1, 2, 3)
    for form in ("default", "vec")
)
"""Nearest elements: the functions in Python find others than the kernels do."""


_TRACING = RLock()
"""Held while PyTorch's tables lack kernels: they are those of all threads."""


@contextmanager
def preserve_operations(operations: Collection[Any] = NEAREST) -> Generator[None]:
    """Preserve operations from decomposition in traces made inside."""
    with _TRACING:
        yield from _remove_python_kernels(operations)


def _remove_python_kernels(operations: Collection[Any]) -> Generator[None]:
    """Take away the functions in Python, and put them back."""
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
