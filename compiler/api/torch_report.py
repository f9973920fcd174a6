"""Counts of the operations that run in TLF and in PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Report:
    """
    Counts of the operations of compiled graphs, by whether TLF or PyTorch runs them,
    since it was cleared.
    """

    compiled: int = 0
    """Number of operations that TLF computes."""
    eager: Counter[str] = field(default_factory=Counter[str])
    """Number of times that an operation stayed with PyTorch, by its name."""

    def clear(self) -> None:
        """Forget all."""
        self.compiled = 0
        self.eager.clear()

    def give_up(self, operations: Sequence[str]) -> None:
        """Count operations as PyTorch's that were counted as compiled."""
        self.compiled -= len(operations)
        self.eager.update(operations)


REPORT = Report()
"""Of all graphs of this process."""
