"""
Cost model of a nest over inner tiles: its work for one tile of an outer level of an
NPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.instruction_costs import Cost


@dataclass(frozen=True)
class NestThroughput:
    """Throughput limits of nests over inner tiles."""

    issue: float
    """Control processor cycles per instruction."""
    fill: float
    """Cycles to move half of the innermost memory."""
    array: int
    """Engine of matrix products."""
    moves: Sequence[int]
    """Engines of moves to and from the innermost memory."""


@dataclass(slots=True)
class NestWork:
    """Work of a nest over inner tiles for a tile of the outer level."""

    busy: dict[int, float] = field(default_factory=dict[int, float])
    """Busy cycles by engine."""
    latencies: dict[int, int] = field(default_factory=dict[int, int])
    """Latency of the results, by engine."""
    instructions: int = 0
    alone: float = 0
    """
    Fraction of the other engines' cycles that overlap nothing: those for the first
    reduction tile of each inner tile, if dependent reductions are tiled.
    """

    def add_instruction(self, cost: Cost, cycles: float) -> None:
        """Add the cycles and the latency of an instruction."""
        self.busy[cost.queue] = self.busy.get(cost.queue, 0) + cycles
        known = self.latencies.get(cost.queue, 0)
        self.latencies[cost.queue] = max(known, cost.latency)
        self.instructions += 1

    def estimate_cycles(self, pace: NestThroughput) -> float:
        """
        Return the cycles of the busiest engine or of the control processor. Nothing
        overlaps with the first and last inner tiles: their latencies, and the cycles of
        the other engines for them, are added.
        """
        busiest, others = self.busiest_and_other_cycles()
        tiles = max(1.0, self._min_inner_tiles(pace))
        issued = tiles * self.instructions * pace.issue
        exposed = min(others, max(self.head_tail_cycles(pace), self.alone * others))
        return max(busiest + exposed, issued) + sum(self.latencies.values())

    def busiest_and_other_cycles(self) -> tuple[float, float]:
        """Return the cycles of the busiest engine, and those of all others."""
        busiest = max(self.busy.values())
        return busiest, sum(self.busy.values()) - busiest

    def head_tail_cycles(self, pace: NestThroughput) -> float:
        """
        Return the head and tail latency that other engines add to a nest. Tiles of
        products fill the array, and the memory as far as necessary; other tiles are as
        small as the control processor can issue.
        """
        if pace.array in self.busy:
            return pace.fill
        busiest, others = self.busiest_and_other_cycles()
        max_tiles = busiest / (self.instructions * pace.issue)
        return others / max(self._min_inner_tiles(pace), max_tiles)

    def _min_inner_tiles(self, pace: NestThroughput) -> float:
        """Return the minimum number of inner tiles, two of which fill the memory."""
        moved = sum(self.busy.get(queue, 0) for queue in pace.moves)
        return moved / pace.fill
