"""
Launch of Triton kernels: checks of arguments, which are not repeated for the tensors of
earlier calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch

from tlf.runtime.known_tensors import KnownTensors
from tlf.runtime.triton.device_tensors import Array, align_tensor, upload_argument
from tlf.runtime.triton.launch_plan import DeviceBuffer


class ArgumentGuard:
    """
    Guard of the arguments of calls on one device. An argument is checked if its tensor
    is another one than in the call before, or has other memory.
    """

    def __init__(
        self,
        buffers: Sequence[DeviceBuffer],
        device: torch.device,
        described: frozenset[str] = frozenset(),
    ) -> None:
        self._buffers = buffers
        self._described = described
        """Names of the buffers of which kernels take descriptors."""
        self._device = device
        self._known = KnownTensors(len(buffers))

    def upload_arguments(self, values: Sequence[Array]) -> list[torch.Tensor]:
        """
        Return the arguments as contiguous tensors on the device: the given tensors if
        they are there. Raises `GuardError`.
        """
        tensors = [*values]
        for index in self._known.find_unknown(values):
            self._known.forget(index)
            value = values[index]
            tensor = upload_argument(self._buffers[index], value, self._device)
            if self._buffers[index].name in self._described:
                tensor = align_tensor(tensor)
            if tensor is value:
                self._known.remember(index, tensor)
            tensors[index] = tensor
        return cast(list[torch.Tensor], tensors)
