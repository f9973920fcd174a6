"""
Launch of Triton kernels: tensor descriptors of arguments, which kernels take after
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from tlf.runtime.triton import dtypes
from tlf.runtime.triton.device_tensors import TORCH_DTYPES
from tlf.runtime.triton.launch_plan import Descriptor, Kernel


@dataclass(frozen=True)
class _Memory:
    """Memory on a device, as far as Triton inspects a tensor to describe it."""

    address: int
    dtype: torch.dtype

    def data_ptr(self) -> int:
        """Return the address."""
        return self.address


def describe_arguments(
    kernel: Kernel, arguments: Sequence[torch.Tensor | int]
) -> list[Any]:
    """Return the descriptors that a kernel takes for some arguments."""
    return [
        _make_descriptor(each, _view_of_argument(each, arguments[each.argument]))
        for each in kernel.descriptors
    ]


def describe_addresses(kernel: Kernel, values: Sequence[int]) -> list[Any]:
    """
    Return the descriptors that a kernel takes for the addresses of some arguments.
    """
    descriptors: list[Any] = []
    for each in kernel.descriptors:
        width = dtypes.numpy_dtype(each.dtype).itemsize
        address = values[each.argument] + width * each.offset
        memory = _Memory(address, TORCH_DTYPES[each.dtype])
        descriptors.append(_make_descriptor(each, memory))
    return descriptors


def triton_descriptor_types(kernel: Kernel) -> tuple[str, ...]:
    """Return Triton's types of the descriptors that a kernel takes."""
    return tuple(
        dtypes.triton_descriptor_type(each.dtype, each.box)
        for each in kernel.descriptors
    )


class DescribedRun:
    """
    Compiled kernel that is called with the values of its arguments on a stream; the
    descriptors are those of the addresses, and are kept for the next call. Several
    threads may call it.
    """

    def __init__(self, kernel: Kernel, run: Any) -> None:
        self._kernel = kernel
        self._run = run
        self._known: tuple[tuple[int, ...], Sequence[Any]] = (), ()
        """Values and descriptors of the last call, which are replaced at once."""

    def __call__(self, *values: int, stream: int) -> None:
        """Enqueue the kernel."""
        known, descriptors = self._known
        if known != values:
            descriptors = describe_addresses(self._kernel, values)
            self._known = values, descriptors
        self._run(*values, *descriptors, stream=stream)


def _view_of_argument(descriptor: Descriptor, value: torch.Tensor | int) -> Any:
    """Return the elements that a descriptor describes, as a tensor."""
    assert isinstance(value, torch.Tensor)
    offset = value.storage_offset() + descriptor.offset
    return value.as_strided(descriptor.shape, descriptor.strides, offset)


def _make_descriptor(descriptor: Descriptor, memory: Any) -> Any:
    host: Any = import_module("triton.tools.tensor_descriptor")
    shape, strides, box = map(
        list, (descriptor.shape, descriptor.strides, descriptor.box)
    )
    return host.TensorDescriptor(memory, shape, strides, box)
