"""Backends: snapshot of the weights of a program, with one quick check per call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import call, is_
from typing import Any
from weakref import ref

from tlf.compiler.backends.argument_snapshots import (
    REPORTED_WRITES,
    count_reported_writes,
)
from tlf.compiler.backends.executables import Buffer


class WeightSnapshot:
    """
    Snapshot of tensors, which are not kept alive. They count as changed if one is
    another tensor, or has other memory, another number of elements or another
    contiguity; watched ones also if they were written to, or if their memory is new.
    """

    def __init__(self, tensors: Sequence[Buffer], watched: Collection[int]) -> None:
        """`watched` are the positions of tensors from which other values follow."""
        self._references = [*map(ref, tensors)]
        self._counted = [
            index for index in watched if not tensors[index].is_inference()
        ]
        """Positions of watched tensors to which PyTorch counts writes."""
        # Freed memory may be that of other values at the same address.
        self._memory = [ref(tensors[index].untyped_storage()) for index in watched]
        self._reported = REPORTED_WRITES.latest
        self._reports = self._count_reports()
        self._facts = self._read_facts(tensors)

    def are_unchanged(self, tensors: Sequence[Buffer]) -> bool:
        """Return `True` if the tensors are those of the snapshot, and are unchanged."""
        return (
            all(map(is_, map(call, self._references), tensors))
            and None not in map(call, self._memory)
            and self._read_facts(tensors) == self._facts
            and self._has_no_report()
        )

    def _has_no_report(self) -> bool:
        """Return `True` if no write to a watched tensor was reported."""
        if (latest := REPORTED_WRITES.latest) is self._reported:
            return True
        if self._count_reports() != self._reports:
            return False
        self._reported = latest
        return True

    def _count_reports(self) -> list[int]:
        """Return the number of reported writes to each watched tensor."""
        return [count_reported_writes(memory()) for memory in self._memory]

    def _read_facts(self, tensors: Sequence[Any]) -> list[object]:
        """Return what differs after a change of data or a counted write."""
        return [
            *[each.data_ptr() for each in tensors],
            *[each.numel() for each in tensors],
            *[each.is_contiguous() for each in tensors],
            *[tensors[index]._version for index in self._counted],
        ]
