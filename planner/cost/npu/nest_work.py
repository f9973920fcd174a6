"""
Cost model of a nest over inner NPU tiles, without IR: its work for one tile of an outer
level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.instruction_costs import Cost
from tlf.planner.cost.npu.product_tiling import ProductTiling
from tlf.planner.settings.search_budgets import TILE_SEARCH


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
    cores: int = 1
    """Number of cores that share the inner tiles."""


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

    product_tiling: ProductTiling | None = None
    """Inner tiles of the product with the most of them, if there is one."""

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
        the other engines for them, are added. If the innermost memory has few slots,
        inner tiles take at least their time from load to store over the slots.
        """
        return max(
            self._cycles_of_busiest_engine(throughput),
            self._cycles_of_slots(throughput)
            if self.product_tiling is None
            else self._cycles_of_product_slots(throughput, self.product_tiling),
        )

    def _cycles_of_busiest_engine(self, throughput: NestThroughput) -> float:
        """Return the cycles if there are slots for any number of inner tiles."""
        busiest, others = self.busiest_and_other_cycles()
        tiles = max(1.0, self._min_inner_tiles(throughput))
        issued = tiles * self.instruction_count * throughput.issue_cycles
        exposed = min(
            others,
            max(self.head_and_tail_cycles(throughput), self.exposed_fraction * others),
        )
        return max(busiest + exposed, issued) + sum(self.latency_by_engine.values())

    def _cycles_of_slots(self, throughput: NestThroughput) -> float:
        """
        Return the cycles of inner tiles of any size. More tiles in flight are smaller,
        and each takes the latencies of all engines.
        """
        busiest, others = self.busiest_and_other_cycles()
        total, latency = busiest + others, sum(self.latency_by_engine.values())
        fills = self._min_inner_tiles(throughput) / 2 / throughput.cores
        issued = self.instruction_count * throughput.issue_cycles
        least = total + latency if fills <= 1 else float("inf")
        for slots in TILE_SEARCH.inner_slots:
            tiles = max(1.0, slots * fills)
            most = max(tiles, busiest / issued if issued else tiles)
            while True:
                chain = total / tiles + latency
                period = max(busiest / tiles, issued, chain / slots)
                least = min(least, (tiles - 1) * period + chain)
                if tiles == most:
                    break
                tiles = min(2 * tiles, most)
        return least

    def _cycles_of_product_slots(
        self, throughput: NestThroughput, tiling: ProductTiling
    ) -> float:
        """
        Return the cycles of the inner tiles of a product: reduction tiles in the slots
        of the factors, followed by the epilogue and the store of each tile of results.
        """
        results, reductions = tiling.result_tiles, tiling.reduction_tiles
        front = (throughput.matrix_engine, throughput.move_engines[0])
        busy = [self.busy_cycles_by_engine.get(each, 0.0) for each in front]
        total = sum(self.busy_cycles_by_engine.values())
        tail = (total - sum(busy)) / results
        product_latency = sum(self.latency_by_engine.get(each, 0) for each in front)
        tiles = results * reductions
        chain = sum(busy) / tiles + product_latency
        period = max(max(busy) / tiles, chain / tiling.slots)
        tail += sum(self.latency_by_engine.values()) - product_latency
        if tiling.result_slots > 1:
            step = max(reductions * period, (chain + tail) / tiling.result_slots)
            return (results - 1) * step + (reductions - 1) * period + chain + tail
        return results * ((reductions - 1) * period + chain + tail)

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
