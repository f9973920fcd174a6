"""
Cost model of a nest over inner NPU tiles, without IR: its work for one tile of an outer
level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.instruction_costs import Cost


@dataclass(frozen=True)
class NestThroughput:
    """Throughput limits of nests over inner tiles."""

    issue_cycles: float
    """Control processor cycles per instruction."""
    half_memory_fill_cycles: float
    """Cycles to move half of the innermost memory."""
    matrix_engine: int
    """Engine of matrix products."""
    move_engines: Sequence[int]
    """Engines of moves to and from the innermost memory."""


@dataclass(slots=True)
class NestWork:
    """Work of a nest over inner tiles for a tile of the outer level."""

    busy_cycles_by_engine: dict[int, float] = field(default_factory=dict[int, float])
    """Busy cycles by engine."""
    latency_by_engine: dict[int, int] = field(default_factory=dict[int, int])
    """Latency of the results, by engine."""
    instruction_count: int = 0
    exposed_fraction: float = 0
    """
    Fraction of the other engines' cycles that overlap nothing: those for the first
    reduction tile of each inner tile, if dependent reductions are tiled.
    """

    def add_instruction(self, cost: Cost, cycles: float) -> None:
        """Add `cycles` to an engine's busy time, and update its longest latency."""
        self.busy_cycles_by_engine[cost.queue] = (
            self.busy_cycles_by_engine.get(cost.queue, 0) + cycles
        )
        known = self.latency_by_engine.get(cost.queue, 0)
        self.latency_by_engine[cost.queue] = max(known, cost.latency)
        self.instruction_count += 1

    def estimate_cycles(self, throughput: NestThroughput) -> float:
        """
        Return the cycles of the busiest engine or of the control processor. Nothing
        overlaps with the first and last inner tiles: their latencies, and the cycles of
        the other engines for them, are added.
        """
        busiest, others = self.busiest_and_other_cycles()
        tiles = max(1.0, self._min_inner_tiles(throughput))
        issued = tiles * self.instruction_count * throughput.issue_cycles
        exposed = min(
            others,
            max(self.head_and_tail_cycles(throughput), self.exposed_fraction * others),
        )
        return max(busiest + exposed, issued) + sum(self.latency_by_engine.values())

    def busiest_and_other_cycles(self) -> tuple[float, float]:
        """Return the cycles of the busiest engine, and those of all others."""
        busiest = max(self.busy_cycles_by_engine.values())
        return busiest, sum(self.busy_cycles_by_engine.values()) - busiest

    def head_and_tail_cycles(self, throughput: NestThroughput) -> float:
        """
        Return the head and tail latency that other engines add to a nest. Tiles of
        products fill the array, and the memory as far as necessary; other tiles are as
        small as the control processor can issue.
        """
        if throughput.matrix_engine in self.busy_cycles_by_engine:
            return throughput.half_memory_fill_cycles
        busiest, others = self.busiest_and_other_cycles()
        max_tiles = busiest / (self.instruction_count * throughput.issue_cycles)
        return others / max(self._min_inner_tiles(throughput), max_tiles)

    def _min_inner_tiles(self, throughput: NestThroughput) -> float:
        """Return the minimum number of inner tiles, two of which fill the memory."""
        moved = sum(
            self.busy_cycles_by_engine.get(queue, 0)
            for queue in throughput.move_engines
        )
        return moved / throughput.half_memory_fill_cycles
