"""What a nest over nearer tiles does for a tile of an outer level."""

from __future__ import annotations

from dataclasses import dataclass, field

from tlf.machine.costs import Cost


@dataclass
class NestWork:
    """What a nest over nearer tiles does for a tile."""

    busy: dict[int, float] = field(default_factory=dict[int, float])
    """Cycles, by engine."""
    latencies: dict[int, int] = field(default_factory=dict[int, int])
    """How long what an engine does takes to have its effect."""
    instructions: int = 0

    def add(self, cost: Cost, cycles: float) -> None:
        """Count an instruction."""
        self.busy[cost.queue] = self.busy.get(cost.queue, 0) + cycles
        known = self.latencies.get(cost.queue, 0)
        self.latencies[cost.queue] = max(known, cost.latency)
        self.instructions += 1

    def cycles(self, issue: float, fill: float) -> float:
        """
        Cycles of the busiest engine, or of the control processor at `issue` for each
        instruction. The first and the last of the nearer tiles overlap nothing: all
        latencies, and what the other engines do for them, in `fill` cycles at most.
        """
        most = max(self.busy.values())
        others = min(sum(self.busy.values()) - most, fill)
        most = max(most + others, self.instructions * issue)
        return most + sum(self.latencies.values())
