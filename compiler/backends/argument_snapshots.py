"""Backends: snapshots of arguments, to detect changed weights between calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from tlf.compiler.backends.executables import Buffer, is_torch_tensor

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_WRITE_COUNT = "_tlf_written"
"""Attribute of a torch storage that counts the writes reported by `refresh`."""


@dataclass
class ReportedWrites:
    """The latest write that `refresh` reported to all programs."""

    latest: object = None


REPORTED_WRITES = ReportedWrites()
"""Writes of this process, so that a program sees quickly that there is no new one."""


class ArgumentSnapshot:
    """
    Snapshot of an argument, to detect later changes. A numpy array is compared with its
    earlier contents. A torch tensor counts as changed if its memory or layout differs,
    or if it was written to according to its version counter or `refresh`.
    """

    def __init__(self, value: Buffer) -> None:
        self._array: Any = None if is_torch_tensor(value) else np.array(value)
        self._facts: tuple[object, ...] | None = None
        if is_torch_tensor(value):
            self._facts = _tensor_state_of(value)
            # Freed memory may be that of other values at the same address.
            self._memory = ref(value.untyped_storage())

    def is_unchanged(self, value: Buffer) -> bool:
        """Return `True` if an argument still has the value of the snapshot."""
        if not is_torch_tensor(value):
            return self._facts is None and _has_equal_bits(self._array, value)
        return self._facts == _tensor_state_of(value) and self._memory() is not None


class ArgumentSnapshots:
    """Snapshots of arguments in order."""

    def __init__(self, values: Sequence[Buffer]) -> None:
        self._snapshots = [*map(ArgumentSnapshot, values)]

    def are_unchanged(self, values: Sequence[Buffer]) -> bool:
        """Return `True` if all arguments still have the values of the snapshots."""
        pairs = zip(self._snapshots, values, strict=True)
        return all(snapshot.is_unchanged(value) for snapshot, value in pairs)


def refresh(*written: Module | Tensor) -> None:
    """
    Report writes to modules or tensors that PyTorch does not count: to tensors created
    in `torch.inference_mode`, or through `.data`. Compiled programs recompute the
    results of their preparation at the next call.
    """
    for tensor in [each for item in written for each in _tensors_of(item)]:
        storage = tensor.untyped_storage()
        setattr(storage, _WRITE_COUNT, count_reported_writes(storage) + 1)
    REPORTED_WRITES.latest = object()


def _tensors_of(module: Any) -> Iterator[Any]:
    """
    Yield the parameters, the buffers and the other tensors of a module, or a tensor
    itself.
    """
    if is_torch_tensor(module):
        yield module
        return
    if not callable(getattr(module, "modules", None)):
        kind = type(module).__name__
        raise TypeError(f"expected a module or a tensor of PyTorch, got {kind}")
    yield from module.parameters()
    yield from module.buffers()
    for each in module.modules():
        yield from filter(is_torch_tensor, each.__dict__.values())


def _tensor_state_of(tensor: Any) -> tuple[object, ...]:
    """
    Return the facts that identify the state of a tensor: its memory, its layout, and
    the known write counts.
    """
    return (
        tensor.data_ptr(),
        tensor.shape,
        tensor.stride(),
        tensor.device,
        None if tensor.is_inference() else tensor._version,
        count_reported_writes(tensor.untyped_storage()),
    )


def count_reported_writes(storage: Any) -> int:
    """Return the number of writes to a storage that `refresh` reported."""
    return getattr(storage, _WRITE_COUNT, 0)


def _has_equal_bits(left: Any, right: Any) -> bool:
    """Return `True` if arrays of one shape and dtype have the same bits."""
    return np.array_equal(
        np.ascontiguousarray(left).reshape(-1).view(np.uint8),
        np.ascontiguousarray(right).reshape(-1).view(np.uint8),
    )
