"""Addresses of the buffers that kernels get in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest
import torch

from tlf.runtime.triton.interpreted_kernel import InterpretedKernel


@contextmanager
def record_kernel_pointers() -> Generator[set[int]]:
    """Collect the addresses of all buffers of launches in the body."""
    pointers: set[int] = set()
    inner = InterpretedKernel.__call__

    def note(self: InterpretedKernel, arguments: Sequence[torch.Tensor | int]) -> None:
        tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
        pointers.update(each.data_ptr() for each in tensors)
        inner(self, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpretedKernel, "__call__", note)
        yield pointers
