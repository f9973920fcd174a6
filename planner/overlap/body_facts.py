"""
Facts that decisions on overlapping iterations read: the operations of a loop body, and
the buffers and ring slices that they access.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tlf.planner.overlap.loop_memory import LoopMemory
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class BodyBuffer:
    """Buffer that an operation of a body accesses."""

    identity: Hashable
    level: str
    is_local: bool
    """True if the body allocates it."""


@dataclass(frozen=True)
class BodyMove:
    """Move of a body, of a box or at indices."""

    source: BodyBuffer
    destination: BodyBuffer
    is_into_ring: bool = False
    """True if it fills slices of a ring."""
    index_buffer: Hashable | None = None
    """Buffer of the indices of a move at indices; None if a box is moved."""

    @property
    def fills_outer_ring(self) -> bool:
        """True if it fills slices of a ring from outside of the loop."""
        return self.is_into_ring and not self.destination.is_local

    @property
    def queue(self) -> tuple[str, str]:
        """Levels, which determine the queue that runs the move."""
        return self.source.level, self.destination.level


@dataclass(frozen=True)
class BodyOperation:
    """Operation of a body, or a loop in it with all operations inside."""

    accessed: Collection[Hashable] = ()
    """Buffers that it accesses; a wait accesses none."""
    written: Collection[Hashable] = ()
    """Buffers that it may write."""
    move: BodyMove | None = None
    queues: Collection[tuple[str, str]] = ()
    """Queues of the moves inside a loop."""
    accumulators: Sequence[BodyBuffer] = ()
    """Buffers that it, or products inside of it, write as products."""
    awaited_moves: Sequence[int | None] = ()
    """Positions of the moves that a wait completes; None for those outside."""
    stages: int = 0
    """Maximum number of iterations in flight of a loop; 0 for other operations."""
    is_product: bool = False
    can_start_early: bool = False
    """True for a product that overwrites its result at an address known early."""

    @property
    def is_loop(self) -> bool:
        """True for loops."""
        return self.stages > 0


@dataclass(frozen=True)
class RingSlices:
    """Slices of a ring buffer that an access in a loop covers."""

    ring: Hashable
    first_slice: AffineSum
    """First slice, before the modulo of slots."""
    step: int
    """Slices from one iteration to the next."""
    extent: int
    ring_extent: int

    def can_overlap_later_slices(self, later: RingSlices, iterations: int) -> bool:
        """
        Return `True` if the slices may overlap with those that another access covers
        `iterations` iterations later.
        """
        shift = later.first_slice - self.first_slice
        if self.ring != later.ring or shift.terms:
            return True
        distance = self.step * iterations + shift.constant
        last = self.ring_extent - later.extent
        return not self.extent <= distance % self.ring_extent <= last


class LoopBody(Protocol):
    """Operations of a loop's body in program order, by their positions from 0."""

    @property
    def operations(self) -> Sequence[BodyOperation]:
        """Facts of the operations."""
        ...

    def measure_memory(self) -> LoopMemory:
        """Return the live buffers during the loop."""
        ...

    def can_overwrite_source(self, load: int, writer: int) -> bool:
        """
        Return `True` if an operation may write the source of a load, or its indices,
        before the load in the same iteration or in another iteration.
        """
        ...

    def has_early_address(self, load: int) -> bool:
        """
        Return `True` if the address of a load depends only on induction variables.
        """
        ...

    def ring_slices_of(self, load: int) -> RingSlices | None:
        """Return the slices of a ring that a load fills; None if they are unknown."""
        ...

    def other_ring_slices(self, load: int) -> Sequence[tuple[int, RingSlices | None]]:
        """
        Return the slices that other operations access in the ring that a load fills,
        each with the position of the operation.
        """
        ...
