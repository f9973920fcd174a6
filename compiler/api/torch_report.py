"""API: counts of the operations that `torch.compile` runs in TLF and in PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class OperationCounts:
    """
    Counts of the operations of compiled graphs that TLF or PyTorch runs, since the last
    `clear`.
    """

    compiled: int = 0
    """Number of operations that TLF computes."""
    eager: Counter[str] = field(default_factory=Counter[str])
    """Number of operations that PyTorch runs, by name."""

    def clear(self) -> None:
        """Reset all counts."""
        self.compiled = 0
        self.eager.clear()

    def count_as_eager(self, operations: Sequence[str]) -> None:
        """Count operations as run by PyTorch that were counted as compiled."""
        self.compiled -= len(operations)
        self.eager.update(operations)


REPORT = OperationCounts()
"""Counts over all graphs of this process."""
