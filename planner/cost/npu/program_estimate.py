"""
Estimate of the cycles of an NPU program from its totals, without simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlf.planner.cost.npu.event_program import Item
from tlf.planner.cost.npu.event_simulation import (
    busy_cycles_by_engine,
    serial_cycles_of,
)
from tlf.planner.cost.npu.iterations_in_flight import SINGLE, IterationsInFlight
from tlf.planner.settings.search_budgets import TILE_SEARCH


@dataclass(frozen=True)
class ProgramEstimate:
    """Totals of a program, from which its cycles follow approximately."""

    serial: int
    """Cycles without any overlap."""
    busiest: int
    """Cycles of the busiest engine or channel."""
    total: int
    """Cycles of all engines and channels."""

    @staticmethod
    def of(program: Sequence[Item]) -> ProgramEstimate:
        """Return the totals of a program."""
        return ProgramEstimate.of_busy_cycles(
            serial_cycles_of(program), busy_cycles_by_engine(program)
        )

    @staticmethod
    def of_busy_cycles(serial: int, busy: Mapping[int, int]) -> ProgramEstimate:
        """Return the totals by the cycles without overlap and the busy cycles."""
        cycles = busy.values()
        return ProgramEstimate(serial, max(cycles, default=0), sum(cycles))

    def cycles_with_stages(self, in_flight_counts: IterationsInFlight) -> int:
        """
        Return the approximate cycles: the cycles of the busiest engine and the exposed
        fraction of all other cycles if iterations overlap. The iterations in flight,
        and one that is loaded or stored, run in parallel.
        """
        if in_flight_counts == SINGLE:
            return self.serial
        in_flight = max(in_flight_counts.tiles, in_flight_counts.reduce_stages) + 1
        exposed = (self.total - self.busiest) // TILE_SEARCH.exposed_divisor
        return max(self.busiest + exposed, self.serial // in_flight)
