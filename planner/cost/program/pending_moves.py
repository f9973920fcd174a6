"""
Cost model of NPU tile programs, without IR: moves in flight that no wait has completed
yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.planner.cost.program.instruction_nests import Instruction


@dataclass
class PendingMoves:
    """Moves in flight, by the storage that they read and write."""

    moves_by_destination: dict[SharedStorage, list[Instruction]] = field(
        default_factory=dict[SharedStorage, list[Instruction]]
    )
    moves_by_source: dict[SharedStorage, list[Instruction]] = field(
        default_factory=dict[SharedStorage, list[Instruction]]
    )

    def add_move(
        self, move: Instruction, source: SharedStorage, destination: SharedStorage
    ) -> None:
        """Record a move between two storages."""
        self.moves_by_source.setdefault(source.outermost, []).append(move)
        self.moves_by_destination.setdefault(destination.outermost, []).append(move)

    def take_conflicting_moves(
        self, reads: Sequence[SharedStorage], writes: Sequence[SharedStorage]
    ) -> tuple[Instruction, ...]:
        """Remove and return the moves that conflict with some reads and writes."""
        conflicting = [
            move
            for storage in (*reads, *writes)
            for move in self.moves_by_destination.get(storage.outermost, ())
        ]
        conflicting += [
            move
            for each in writes
            for move in self.moves_by_source.get(each.outermost, ())
        ]
        return self._remove_moves(conflicting)

    def take_all_moves(self) -> tuple[Instruction, ...]:
        """Remove and return all moves."""
        return self._remove_moves(
            [each for moves in self.moves_by_destination.values() for each in moves]
        )

    def _remove_moves(self, moves: Sequence[Instruction]) -> tuple[Instruction, ...]:
        """
        Remove moves from the tables of both storages, and return them without
        duplicates.
        """
        done = set(moves)
        for table in (self.moves_by_destination, self.moves_by_source):
            for storage, pending in list(table.items()):
                table[storage] = [each for each in pending if each not in done]
        return tuple(dict.fromkeys(moves))
