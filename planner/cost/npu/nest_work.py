"""Work of a nest over inner tiles for one tile of an outer level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.instruction_costs import Cost


@dataclass(frozen=True)
class NestThroughput:
    """Throughput limits of nests over inner tiles."""

    issue: float
    """Cycles of the control processor for an instruction."""
    fill: float
    """Cycles in which half the nearest memory is moved."""
    array: int
    """The engine of products."""
    moves: Sequence[int]
    """The engines of moves to and from the nearest memory."""


@dataclass(slots=True)
class NestWork:
    """Work of a nest over inner tiles, for a tile of the outer level."""

    busy: dict[int, float] = field(default_factory=dict[int, float])
    """Cycles, by engine."""
    latencies: dict[int, int] = field(default_factory=dict[int, int])
    """Latency of the results, by engine."""
    instructions: int = 0
    alone: float = 0
    """
    The part of what other engines do that overlaps nothing: that for the first piece of
    each nearer tile, where sums that need each other come in pieces.
    """

    def add_instruction(self, cost: Cost, cycles: float) -> None:
        """Count an instruction."""
        self.busy[cost.queue] = self.busy.get(cost.queue, 0) + cycles
        known = self.latencies.get(cost.queue, 0)
        self.latencies[cost.queue] = max(known, cost.latency)
        self.instructions += 1

    def estimate_cycles(self, pace: NestThroughput) -> float:
        """
        Cycles of the busiest engine, or of the control processor. The first and the
        last of the nearer tiles overlap nothing: all latencies, and what the other
        engines do for them.
        """
        most, others = self.busiest_and_other_cycles()
        tiles = max(1.0, self._min_inner_tiles(pace))
        issued = tiles * self.instructions * pace.issue
        around = min(others, max(self.head_tail_cycles(pace), self.alone * others))
        return max(most + around, issued) + sum(self.latencies.values())

    def busiest_and_other_cycles(self) -> tuple[float, float]:
        """Return the cycles of the busiest engine, and those of all others."""
        most = max(self.busy.values())
        return most, sum(self.busy.values()) - most

    def head_tail_cycles(self, pace: NestThroughput) -> float:
        """
        Return the head and tail latency that other engines add to a nest. Tiles of
        products fill the array, and the memory as far as need be; others are as thin as
        the control processor can follow.
        """
        if pace.array in self.busy:
            return pace.fill
        most, others = self.busiest_and_other_cycles()
        thinnest = most / (self.instructions * pace.issue)
        return others / max(self._min_inner_tiles(pace), thinnest)

    def _min_inner_tiles(self, pace: NestThroughput) -> float:
        """The nearer tiles that there are at least, of which two fill the memory."""
        moved = sum(self.busy.get(queue, 0) for queue in pace.moves)
        return moved / pace.fill
