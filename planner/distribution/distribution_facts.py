"""
Facts that the decision on loops distributed over cores reads: the operations of a
block, and the buffers that they use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class ScopeOperation:
    """Operation of a block, or a loop with all operations inside."""

    used: AbstractSet[Hashable]
    """Buffers that it uses and does not allocate, without those of awaited moves."""
    written: AbstractSet[Hashable]
    """Buffers that it writes."""
    allocated: AbstractSet[Hashable] = frozenset()
    """Buffers that it allocates."""
    awaited: AbstractSet[Hashable] = frozenset()
    """Buffers that a move accesses for which it waits."""
    moved: tuple[Hashable, Hashable] | None = None
    """Source and destination of a move."""
    inside: Sequence[ScopeOperation] = ()
    """Operations of the body of a loop."""
    speedup: float | None = None
    """Speedup of a loop that may be distributed; None for other operations."""

    def walk(self) -> Iterator[ScopeOperation]:
        """Yield the operation, and all operations inside."""
        yield self
        for each in self.inside:
            yield from each.walk()


@dataclass(frozen=True)
class CoreScope:
    """Block with a nest that every core executes around a distributed loop."""

    operations: Sequence[ScopeOperation]
    """Operations of the block, in program order."""
    nest_position: int
    """Position of the nest in the block."""
    allocated: AbstractSet[Hashable]
    """Buffers that the block itself allocates."""
    private: AbstractSet[Hashable]
    """Buffers in levels that each core has for itself."""

    @property
    def nest(self) -> ScopeOperation:
        """The nest."""
        return self.operations[self.nest_position]
