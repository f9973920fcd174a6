"""Kernels, launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import torch

from tlf.runtime.triton.errors import KernelError, TritonRuntimeError
from tlf.runtime.triton.kernel_files import kernel_function
from tlf.runtime.triton.plan import Kernel

ALIGNMENT = 16
"""The bytes that Triton compiles another kernel for, where buffers start at them."""

Run: TypeAlias = Callable[..., object]


class Launcher:
    """
    Launches one kernel. Triton looks at every argument to find what it compiled for
    such; what that was for buffers alone is kept, by which of them are aligned.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._function: Any = kernel_function(kernel)
        self._known: dict[tuple[bool, ...], Run] = {}

    def __call__(self, arguments: Sequence[torch.Tensor | int]) -> None:
        """Launch it. Raises `KernelError`, and what the interpreter finds."""
        try:
            self._launch(arguments)
        except TritonRuntimeError:
            raise
        except Exception as error:
            cause = error.__cause__ or error
            is_known = isinstance(cause, KernelError)
            text = f"{cause}" if is_known else f"{type(cause).__name__}: {cause}"
            name = self._kernel.name
            raise KernelError(f"kernel '{name}': {text}") from error

    def _launch(self, arguments: Sequence[torch.Tensor | int]) -> None:
        key = _alignment(arguments)
        if key is not None and (known := self._known.get(key)) is not None:
            known(*arguments)
            return
        kernel = self._kernel
        # The interpreter computes with numpy, which warns where a GPU does not.
        with np.errstate(all="ignore"):
            compiled = self._function[kernel.grid](
                *arguments, num_warps=kernel.num_warps, num_stages=kernel.num_stages
            )
        if key is not None and compiled is not None:
            ones = (1,) * (3 - len(kernel.grid))
            self._known[key] = compiled[(*kernel.grid, *ones)]


def _alignment(arguments: Sequence[torch.Tensor | int]) -> tuple[bool, ...] | None:
    """Which buffers are aligned; nothing where numbers are among the arguments."""
    if any(isinstance(each, int) for each in arguments):
        return None
    buffers = cast(Sequence[torch.Tensor], arguments)
    return tuple(each.data_ptr() % ALIGNMENT == 0 for each in buffers)
