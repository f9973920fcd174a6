"""
Cost model of the execution time of a GPU kernel, on numbers without IR.

The `N` programs of a kernel run in waves, `R` resident on each of `P` processors. A
shared resource takes the time of its bytes (a roofline; Williams, Waterman and
Patterson, 2009). A unit of a processor is busy for `ceil(N / P)` programs. There are
`ceil(N / (R P))` waves, each at least as long as one program that has its processor to
itself and waits for memory. The kernel takes the longest of these, plus the latency
until the first bytes arrive and its launch.
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
    """Bytes that could be moved in the time needed to start all rows."""


@dataclass(frozen=True)
class KernelWork:
    """Work of the programs of a kernel."""

    programs: int
    memory: OuterTraffic
    """Outermost traffic of all programs."""
    cache: float
    """Bytes between processors and the cache, for all programs."""
    each: UnitCycles
    """Busy cycles of one program, except for its computation after a loop."""
    alone: float
    """Cycles of one program that has a processor to itself."""
    fill: float
    """
    Cycles of one program before its first bytes arrive and after its last are issued.
    """
    resources: ProgramResources
    waits: float = 0.0
    """Cycles of one program that none of its other work hides."""
    warp_issued_cycles: float = 0.0
    """
    Cycles of one program's work that its warps execute sequentially, with nothing in
    flight.
    """
    stored: float = 0.0
    """Bytes that all programs store after a loop; their end waits for these stores."""
    after: float = 0.0
    """
    Cycles that one program computes after a loop: programs that start together end
    together, so that no other work overlaps with it.
    """


@dataclass(frozen=True)
class KernelCost:
    """Estimated cost of a kernel, with its breakdown. Times are in cycles."""

    cycles: float
    times: Mapping[str, float]
    """Busy time of each resource."""
    programs: int
    resident: int
    """Number of programs resident on one processor."""
    waves: int
    resources: ProgramResources
    bytes: float
    """Bytes of the outermost memory, in whole sectors."""

    @property
    def bottleneck(self) -> str:
        """The resource with the longest time."""
        return max(self.times, key=lambda part: self.times[part])


def estimate_kernel_cost(work: KernelWork, chip: Chip) -> KernelCost:
    """Return the estimated time of a kernel on a GPU."""
    resident = work.resources.count_resident(chip)
    per_processor = ceil(work.programs / chip.processors)
    waves = ceil(work.programs / (resident * chip.processors))
    each = work.each
    times = {
        "memory": (work.memory.bytes + work.memory.gaps) / chip.memory.bandwidth,
        "cache": work.cache / chip.cache.bandwidth,
        "matrix": per_processor * each.matrix,
        "lanes": per_processor * each.lanes,
        "special": per_processor * each.special,
        "loads": per_processor * each.loads,
        "shared": per_processor * each.shared,
        "port": per_processor * each.port,
        "warps": per_processor * work.warp_issued_cycles,
    }
    latency = waves * work.alone - work.fill
    # Programs of a wave end together and store together.
    port_cycles = waves * work.stored / work.programs / chip.gpu.port
    latency += max(0.0, work.stored / chip.memory.bandwidth - port_cycles)
    # Programs of the first wave start together and wait together.
    busy = max(times.values()) + per_processor * work.after + work.waits
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
