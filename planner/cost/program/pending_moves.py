"""
Cost model of NPU programs: moves in flight of a block that no wait has completed yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.planner.cost.program.instruction_nests import Instruction


@dataclass
class PendingMoves:
    """Moves in flight, by the storage that they read and write."""

    written: dict[SharedStorage, list[Instruction]] = field(
        default_factory=dict[SharedStorage, list[Instruction]]
    )
    read: dict[SharedStorage, list[Instruction]] = field(
        default_factory=dict[SharedStorage, list[Instruction]]
    )

    def add_move(
        self, move: Instruction, source: SharedStorage, destination: SharedStorage
    ) -> None:
        """Record a move between two storages."""
        self.read.setdefault(source.outermost, []).append(move)
        self.written.setdefault(destination.outermost, []).append(move)

    def take_conflicting(
        self, reads: Sequence[SharedStorage], writes: Sequence[SharedStorage]
    ) -> tuple[Instruction, ...]:
        """Remove and return the moves that conflict with some reads and writes."""
        conflicting = [
            move
            for storage in (*reads, *writes)
            for move in self.written.get(storage.outermost, ())
        ]
        conflicting += [
            move for each in writes for move in self.read.get(each.outermost, ())
        ]
        return self._take_moves(conflicting)

    def take_all(self) -> tuple[Instruction, ...]:
        """Remove and return all moves."""
        return self._take_moves(
            [each for moves in self.written.values() for each in moves]
        )

    def _take_moves(self, moves: Sequence[Instruction]) -> tuple[Instruction, ...]:
        done = set(moves)
        for table in (self.written, self.read):
            for storage, pending in list(table.items()):
                table[storage] = [each for each in pending if each not in done]
        return tuple(dict.fromkeys(moves))
