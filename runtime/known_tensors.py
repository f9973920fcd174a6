"""Tensors of earlier calls, which need no further check. Does not import PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import ref


class _KnownTensor(NamedTuple):
    """A tensor, not kept alive, with what changes if its data are replaced."""

    reference: Callable[[], object]
    address: int
    element_count: int
    is_contiguous: bool


class KnownTensors:
    """
    The tensors at each position of an argument list that passed some check. A tensor is
    known as long as it has the same memory, as many elements, and is contiguous or not
    as before.
    """

    def __init__(self, count: int) -> None:
        self._known: list[_KnownTensor | None] = [None] * count

    def find_unknown(self, values: Sequence[Any]) -> list[int]:
        """Return the positions of values that are not known."""
        return [
            index
            for index, (value, known) in enumerate(
                zip(values, self._known, strict=True)
            )
            if known is None
            or known[0]() is not value
            or value.data_ptr() != known[1]
            or value.numel() != known[2]
            or value.is_contiguous() != known[3]
        ]

    def remember(self, index: int, tensor: Any) -> None:
        """Record the tensor at a position as known."""
        facts = tensor.data_ptr(), tensor.numel(), tensor.is_contiguous()
        self._known[index] = _KnownTensor(ref(tensor), *facts)

    def forget(self, index: int) -> None:
        """Record that nothing is known at a position."""
        self._known[index] = None
