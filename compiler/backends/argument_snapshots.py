"""Backends: snapshots of arguments, to detect changed weights between calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tlf.compiler.backends.executables import Buffer, is_torch_tensor
from tlf.runtime.known_tensors import KnownTensors

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_WRITE_COUNT = "_tlf_written"
"""Attribute of a torch storage that counts the writes reported by `refresh`."""


class ArgumentSnapshot:
    """
    Snapshot of an argument, to detect later changes. A numpy array is compared with its
    earlier contents. A torch tensor counts as changed if its memory or layout differs,
    or if it was written to according to its version counter or `refresh`.
    """

    def __init__(self, value: Buffer) -> None:
        self._array: Any = None if is_torch_tensor(value) else np.array(value)
        # Keep a reference to the storage, so that its memory is not reused.
        self._storage: Any = value.untyped_storage() if is_torch_tensor(value) else None
        self._facts = _tensor_state_of(value) if is_torch_tensor(value) else None

    def is_unchanged(self, value: Buffer) -> bool:
        """Return `True` if an argument still has the value of the snapshot."""
        if not is_torch_tensor(value):
            return self._facts is None and _has_equal_bits(self._array, value)
        return self._facts == _tensor_state_of(value)

    @property
    def storage_attributes(self) -> Mapping[str, int]:
        """Attributes of the storage of a torch tensor, which is kept."""
        return cast(Mapping[str, int], vars(self._storage))


class ArgumentSnapshots:
    """Snapshots of arguments in order; those of known tensors are compared quickly."""

    def __init__(self, values: Sequence[Buffer]) -> None:
        self._snapshots = [ArgumentSnapshot(each) for each in values]
        self._known = KnownTensors(len(values))
        self._counted = [
            index
            for index, each in enumerate(values)
            if is_torch_tensor(each) and not each.is_inference()
        ]
        """Positions of tensors to which PyTorch counts writes."""
        for index in self._counted:
            self._known.remember(index, values[index])
        self._versions = [values[index]._version for index in self._counted]
        counted = (self._snapshots[index] for index in self._counted)
        self._attributes = [each.storage_attributes for each in counted]
        self._write_counts = self._read_write_counts()

    def are_unchanged(self, values: Sequence[Buffer]) -> bool:
        """Return `True` if all arguments still have the values of the snapshots."""
        unknown = self._known.find_unknown(values)
        if not all(self._snapshots[at].is_unchanged(values[at]) for at in unknown):
            return False
        return [
            values[index]._version for index in self._counted
        ] == self._versions and self._read_write_counts() == self._write_counts

    def _read_write_counts(self) -> list[int]:
        """Return the writes that `refresh` counted, for each counted tensor."""
        return [each.get(_WRITE_COUNT, 0) for each in self._attributes]


def refresh(*written: Module | Tensor) -> None:
    """
    Report writes to modules or tensors that PyTorch does not count: to tensors created
    in `torch.inference_mode`, or through `.data`. Compiled programs recompute the
    results of their preparation at the next call.
    """
    for tensor in [each for item in written for each in _tensors_of(item)]:
        storage = tensor.untyped_storage()
        setattr(storage, _WRITE_COUNT, _write_count_of(storage) + 1)


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
        _write_count_of(tensor.untyped_storage()),
    )


def _write_count_of(storage: Any) -> int:
    return getattr(storage, _WRITE_COUNT, 0)


def _has_equal_bits(left: Any, right: Any) -> bool:
    """Return `True` if arrays of one shape and dtype have the same bits."""
    return np.array_equal(
        np.ascontiguousarray(left).reshape(-1).view(np.uint8),
        np.ascontiguousarray(right).reshape(-1).view(np.uint8),
    )
