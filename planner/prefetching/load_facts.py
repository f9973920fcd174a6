"""
Facts that the decision on early loads reads: the operations of the outermost block of a
function, and the live ranges of the buffers in a memory level.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tlf.analysis.buffers.subview_disjointness import Section, has_disjoint_sections
from tlf.support.allocation import Buffer


@dataclass(frozen=True)
class RegionFacts:
    """Region of a buffer that is read or written."""

    buffer: Hashable
    """Identity of the buffer."""
    sections: tuple[Section, ...] = ()
    """Sections that contain the region."""

    def can_alias(self, other: RegionFacts) -> bool:
        """Return `True` if both regions may have the same bytes."""
        return self.buffer == other.buffer and not has_disjoint_sections(
            self.sections, other.sections
        )


@dataclass(frozen=True)
class LoadFacts:
    """Load that fills a buffer of the block, and may start at any earlier place."""

    buffer: Hashable
    """Identity of the buffer that it fills."""
    source: RegionFacts


@dataclass(frozen=True)
class OperationFacts:
    """Operation of a block, or a loop with all operations inside."""

    accessed_buffers: Collection[Hashable]
    """Buffers that it accesses, or that a move accesses for which it waits."""
    written_regions: Collection[RegionFacts]
    """Regions that it may write, or that a move may write for which it waits."""
    load: LoadFacts | None
    """Load between the two levels that can be hoisted; else None."""
    has_fixed_load: bool
    """True if it is or contains a load between the two levels that is not hoisted."""


@dataclass(frozen=True)
class LevelLifetimes:
    """Live ranges in the inner one of two levels."""

    steps: Sequence[tuple[int, int]]
    """First and last step of each operation of the block."""
    buffers: Mapping[Hashable, Buffer]
    """Buffers of the level by identity, in program order."""


class LoadSequence(Protocol):
    """Operations of a block in program order, among which loads are hoisted."""

    def collect_operations(self) -> Sequence[OperationFacts]:
        """Return the facts of the operations."""
        ...

    def lifetimes_with_early_loads(self, targets: Mapping[int, int]) -> LevelLifetimes:
        """
        Return the live ranges after loads, by position, are moved to right before the
        operations at target positions.
        """
        ...
