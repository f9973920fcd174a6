"""
Facts that decisions about chunks read: the moves and loops of a block, and the uses of
the buffers that the moves access.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Generic, Protocol, TypeVar

from tlf.analysis.buffers.index_congruence import Congruence, add_congruences
from tlf.planner.chunking.chunk_rates import TileAccess

AccessT = TypeVar("AccessT", bound=TileAccess)
AccessT_co = TypeVar("AccessT_co", bound=TileAccess, covariant=True)


@dataclass(frozen=True)
class BoxFacts:
    """Box that a move accesses, in a view of a buffer."""

    buffer: Hashable
    """Identity of the buffer."""
    level: str
    view_shape: tuple[int, ...]
    offsets: tuple[int, ...] | None
    """Offsets of the box in the view; None unless all are constant."""
    byte_strides: tuple[int, ...] | None
    """Strides of the view in bytes; None unless all are constant."""
    item_bytes: int
    address: Congruence
    """Congruence of the address of the box, in bytes."""

    def shift_address(self, offsets: Sequence[int]) -> BoxFacts:
        """Return the box with the address at further offsets."""
        shift = sum(map(mul, self.byte_strides or (), offsets))
        return replace(self, address=add_congruences(self.address, (0, shift)))


@dataclass(frozen=True)
class MoveFacts:
    """Move of a box of elements from one buffer to another."""

    source: BoxFacts
    destination: BoxFacts
    box_shape: tuple[int, ...]
    is_filled: bool
    """True if elements outside of the source are filled."""


@dataclass(frozen=True)
class BufferUser(Generic[AccessT_co]):
    """Operation that uses the buffer of a move of a block."""

    position: int | None
    """
    Position in the block of the operation, or of the one around it; None outside of it.
    """
    access: AccessT_co | None
    """Access to the buffer if it is a move of a box; else None."""


class BlockFacts(Protocol[AccessT_co]):
    """Operations of a block in program order, by their positions from 0."""

    @property
    def loop_positions(self) -> Sequence[int]:
        """Positions of loops."""
        ...

    @property
    def length(self) -> int:
        """Number of operations."""
        ...

    def move_at(self, position: int) -> MoveFacts | None:
        """Return a move of a box; None for other operations, and moves by indices."""
        ...

    def is_passive_at(self, position: int) -> bool:
        """
        Return `True` for a wait, an allocation, a view or index arithmetic.
        """
        ...

    def buffers_at(self, position: int) -> Collection[Hashable]:
        """Return the buffers that an operation accesses."""
        ...

    def wait_positions_of(self, position: int) -> Sequence[int | None]:
        """Return the positions of the waits for a move; None where one is outside."""
        ...

    def other_users(
        self, position: int, is_load: bool
    ) -> Sequence[BufferUser[AccessT_co]]:
        """
        Return the other users of the buffer that a load fills, with their reads of it,
        or of the buffer that a store reads, with their writes; waits are no users.
        """
        ...
