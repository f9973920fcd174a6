"""The moves of a block that nothing has waited for yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.analysis.buffers.tile_liveness import Storage
from tlf.planner.cost.program.program import Step


@dataclass
class Pending:
    """Moves in flight, by the storage that they read and write."""

    written: dict[Storage, list[Step]] = field(
        default_factory=dict[Storage, list[Step]]
    )
    read: dict[Storage, list[Step]] = field(default_factory=dict[Storage, list[Step]])

    def start(self, move: Step, source: Storage, destination: Storage) -> None:
        """Note a move between two places."""
        self.read.setdefault(source.whole, []).append(move)
        self.written.setdefault(destination.whole, []).append(move)

    def against(
        self, reads: Sequence[Storage], writes: Sequence[Storage]
    ) -> tuple[Step, ...]:
        """Take what stands against reading and writing some places."""
        found = [
            move
            for storage in (*reads, *writes)
            for move in self.written.get(storage.whole, ())
        ]
        found += [move for each in writes for move in self.read.get(each.whole, ())]
        return self._take(found)

    def all(self) -> tuple[Step, ...]:
        """Take everything."""
        return self._take([each for moves in self.written.values() for each in moves])

    def _take(self, moves: Sequence[Step]) -> tuple[Step, ...]:
        done = set(moves)
        for table in (self.written, self.read):
            for storage, pending in list(table.items()):
                table[storage] = [each for each in pending if each not in done]
        return tuple(dict.fromkeys(moves))
