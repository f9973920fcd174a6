"""
Launch of Triton kernels: checks of arguments, which are not repeated for the tensors of
earlier calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import ref

import torch

from tlf.runtime.triton.device_tensors import Array, upload_argument
from tlf.runtime.triton.launch_plan import DeviceBuffer


class _KnownTensor(NamedTuple):
    """A tensor that was accepted in place, with what a write to its data changes."""

    reference: Callable[[], object]
    address: int
    element_count: int


class ArgumentGuard:
    """
    Guard of the arguments of calls on one device. An argument is checked if its tensor
    is another one than in the call before, or has other memory; tensors are not kept
    alive.
    """

    def __init__(self, buffers: Sequence[DeviceBuffer], device: torch.device) -> None:
        self._buffers = buffers
        self._device = device
        self._known: list[_KnownTensor | None] = [None] * len(buffers)

    def upload_arguments(self, values: Sequence[Array]) -> list[torch.Tensor]:
        """
        Return the arguments as contiguous tensors on the device: the given tensors if
        they are there. Raises `GuardError`.
        """
        return [
            value
            if (known := self._known[index]) is not None
            and known.reference() is value
            and isinstance(value, torch.Tensor)
            and value.data_ptr() == known.address
            and value.numel() == known.element_count
            else self._upload_and_remember(index, value)
            for index, value in enumerate(values)
        ]

    def _upload_and_remember(self, index: int, value: Array) -> torch.Tensor:
        """Return an argument as a tensor on the device, after a check."""
        self._known[index] = None
        tensor = upload_argument(self._buffers[index], value, self._device)
        if tensor is value:
            known = _KnownTensor(ref(tensor), tensor.data_ptr(), tensor.numel())
            self._known[index] = known
        return tensor
