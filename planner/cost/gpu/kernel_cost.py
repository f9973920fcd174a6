"""
Execution time of a kernel.

Its programs run in waves: of `N` programs, `R` at once on each of `P` processors. What
all share takes the time that its bytes take (a roofline; Williams, Waterman and
Patterson, 2009). A part of a processor takes as long as `ceil(N / P)` programs keep it
busy. And there are `ceil(N / (R P))` waves, none shorter than one program that has its
processor for itself, and waits for memory. The kernel takes the longest of these, the
time until the first bytes are there, and its launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.program_resources import ProgramResources
from tlf.planner.cost.gpu.unit_cycles import UnitCycles


@dataclass(frozen=True)
class OuterTraffic:
    """Traffic of the outermost memory, in bytes."""

    bytes: float
    gaps: float = 0.0
    """That it could move in the time that it takes to start all rows."""


@dataclass(frozen=True)
class KernelWork:
    """Work of the programs of a kernel."""

    programs: int
    memory: OuterTraffic
    """Of all programs."""
    cache: float
    """Bytes between processors and the cache, of all programs."""
    each: UnitCycles
    """One program, but for what it computes after a loop."""
    alone: float
    """Cycles of one program that has a processor for itself."""
    fill: float
    """Cycles of it until the first bytes are there, and its last are away."""
    resources: ProgramResources
    waits: float = 0.0
    """Cycles of it that nothing else of the same program fills."""
    warp_issued_cycles: float = 0.0
    """Cycles of what its warps do one after the other, with nothing in flight."""
    stored: float = 0.0
    """Bytes that all programs leave after a loop, which its end waits for."""
    after: float = 0.0
    """
    Cycles of what one program computes after a loop: programs that start at once end at
    once, so that none has anything else to do then.
    """


@dataclass(frozen=True)
class KernelCost:
    """Price of a kernel, with its breakdown. Times are in cycles."""

    cycles: float
    times: Mapping[str, float]
    """Time of each part by itself."""
    programs: int
    resident: int
    """Programs on one processor at once."""
    waves: int
    resources: ProgramResources
    bytes: float
    """Of the outermost memory, in whole sectors."""

    @property
    def bottleneck(self) -> str:
        """The part that takes longest."""
        return max(self.times, key=lambda part: self.times[part])


def estimate_kernel_cost(work: KernelWork, chip: Chip) -> KernelCost:
    """The time of a kernel on a GPU."""
    resident = work.resources.count_resident(chip)
    most = ceil(work.programs / chip.processors)
    waves = ceil(work.programs / (resident * chip.processors))
    each = work.each
    times = {
        "memory": (work.memory.bytes + work.memory.gaps) / chip.memory.bandwidth,
        "cache": work.cache / chip.cache.bandwidth,
        "matrix": most * each.matrix,
        "lanes": most * each.lanes,
        "special": most * each.special,
        "loads": most * each.loads,
        "shared": most * each.shared,
        "port": most * each.port,
        "warps": most * work.warp_issued_cycles,
    }
    latency = waves * work.alone - work.fill
    # Programs of a wave end at once, and store at once.
    ways = waves * work.stored / work.programs / chip.gpu.port
    latency += max(0.0, work.stored / chip.memory.bandwidth - ways)
    # Programs that start at once wait at once, in the first wave.
    busy = max(times.values()) + most * work.after + work.waits
    times["latency"] = latency
    cycles = chip.gpu.launch + work.fill + max(busy, latency)
    return KernelCost(
        cycles,
        times,
        work.programs,
        resident,
        waves,
        work.resources,
        work.memory.bytes,
    )
