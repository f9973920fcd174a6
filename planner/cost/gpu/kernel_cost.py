"""
Cost model of the execution time of a GPU kernel from its total work, without IR.

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

from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.program_resources import ProgramResources
from tlf.planner.cost.gpu.unit_cycles import UnitCycles

UNITS_OF_ANY_WARPS = ("memory", "matrix", "special")
"""
Resources whose time hardly depends on the number of warps of a program; besides lanes,
unless they compute products.
"""


@dataclass(frozen=True)
class OuterTraffic:
    """Traffic of the outermost memory, in bytes."""

    bytes: float
    row_start_bytes: float = 0.0
    """Bytes that could be moved in the time needed to start all rows."""


@dataclass(frozen=True)
class KernelWork:
    """Estimated work of a GPU kernel, per program or in total, to compute its time."""

    program_count: int
    outer_traffic: OuterTraffic
    """Outermost traffic of all programs."""
    cache_bytes: float
    """Bytes between processors and the cache, for all programs."""
    unit_cycles_per_program: UnitCycles
    """Busy cycles of one program, except for its computation after a loop."""
    lone_program_cycles: float
    """Cycles of one program that has a processor to itself."""
    latency_before_and_after: float
    """
    Cycles of one program before its first bytes arrive and after its last are issued.
    """
    resources: ProgramResources
    exposed_wait_cycles: float = 0.0
    """Cycles of one program that none of its other work hides."""
    warp_issued_cycles: float = 0.0
    """
    Cycles of one program's work that its warps execute sequentially, with nothing in
    flight.
    """
    bytes_stored_after_loop: float = 0.0
    """Bytes that all programs store after a loop; their end waits for these stores."""
    cycles_after_loop: float = 0.0
    """
    Cycles that one program computes after a loop: programs that start together end
    together, so that no other work overlaps with it.
    """
    longest_loop_excess: float = 0.0
    """
    Cycles by which the loop of the longest program exceeds the mean of all programs.
    """
    alternating_cycles: float = 0.0
    """
    Cycles of one program in which groups of warps alternate between matrix instructions
    and lanes, and wait for each other.
    """
    has_lane_products: bool = False
    """True if lanes compute products, or split their factors."""
    cycles_of_fewer_warps: float = 0.0
    """
    Cycles of one program that has a processor to itself, as far as fewer warps may save
    them: in which warps exchange results.
    """
    cycles_of_more_warps: float = 0.0
    """
    Cycles of one program that has a processor to itself, as far as more warps may save
    them: in which instructions of a warp wait for each other.
    """


@dataclass(frozen=True)
class KernelCost:
    """Estimated cost of a kernel, with its breakdown. Times are in cycles."""

    cycles: float
    time_by_resource: Mapping[str, float]
    """Busy time of each resource."""
    program_count: int
    resident_programs: int
    """Number of programs resident on one processor."""
    wave_count: int
    resources: ProgramResources
    outer_bytes: float
    """Bytes of the outermost memory, in whole sectors."""
    fixed_cycles: float
    """Cycles of the launch, and before the first and after the last bytes."""
    is_persistent: bool = False
    """
    True if as many programs as run at once have the iterations of all. The cycles are
    those of a grid.
    """
    least_cycles_of_fewer_warps: float = 0.0
    """Lower bound on the cycles if programs had fewer warps."""
    least_cycles_of_more_warps: float = 0.0
    """Lower bound on the cycles if programs had more warps."""

    @property
    def bottleneck(self) -> str:
        """The resource with the longest time."""
        return max(self.time_by_resource, key=lambda part: self.time_by_resource[part])


def estimate_kernel_cost(work: KernelWork, chip: Chip) -> KernelCost:
    """Return the estimated cycles of a kernel with launch, and their breakdown."""
    resident = work.resources.count_resident_programs(chip)
    per_processor = ceil(work.program_count / chip.processors)
    waves = ceil(work.program_count / (resident * chip.processors))
    times = _compute_time_by_resource(work, chip, per_processor)
    latency = _latency_of(work, chip, waves, work.lone_program_cycles)
    # Programs of the first wave start together and wait together.
    busy = (
        max(times.values())
        + per_processor * work.cycles_after_loop
        + work.exposed_wait_cycles
    )
    times["latency"] = latency
    fixed = chip.gpu.launch + work.latency_before_and_after
    fewer, more = _least_cycles_with_other_warps(work, chip, times)
    return KernelCost(
        fixed + max(busy, latency),
        times,
        work.program_count,
        resident,
        waves,
        work.resources,
        work.outer_traffic.bytes,
        fixed,
        least_cycles_of_fewer_warps=fixed + fewer,
        least_cycles_of_more_warps=fixed + more,
    )


def _latency_of(work: KernelWork, chip: Chip, waves: int, alone: float) -> float:
    """
    Return the cycles after the start of a kernel of `waves` of programs, each of which
    takes `alone` on a processor of its own.
    """
    latency = waves * alone - work.latency_before_and_after + work.longest_loop_excess
    # Programs of a wave end together and store together.
    stored = work.bytes_stored_after_loop
    port_cycles = waves * stored / work.program_count / chip.gpu.port
    return latency + max(0.0, stored / chip.memory.bandwidth - port_cycles)


def _least_cycles_with_other_warps(
    work: KernelWork, chip: Chip, times: Mapping[str, float]
) -> tuple[float, float]:
    """
    Return lower bounds on the cycles after the start of a kernel if its programs had
    fewer warps, of which as many programs are resident as their values allow, or more.
    """
    resources, alone = work.resources, work.lone_program_cycles
    lanes = () if work.has_lane_products else ("lanes",)
    units = max(times[each] for each in (*UNITS_OF_ANY_WARPS, *lanes))

    def least_cycles(resident: int, saved: float) -> float:
        waves = ceil(work.program_count / (resident * chip.processors))
        return max(units, _latency_of(work, chip, waves, alone - saved))

    return (
        least_cycles(resources.max_resident_programs(chip), work.cycles_of_fewer_warps),
        least_cycles(
            resources.count_resident_programs(chip), work.cycles_of_more_warps
        ),
    )


def _compute_time_by_resource(
    work: KernelWork, chip: Chip, per_processor: int
) -> dict[str, float]:
    """Return the busy cycles of each resource, except for the latency."""
    each = work.unit_cycles_per_program
    return {
        "memory": (work.outer_traffic.bytes + work.outer_traffic.row_start_bytes)
        / chip.memory.bandwidth,
        "cache": work.cache_bytes / chip.cache.bandwidth,
        "matrix": per_processor * each.matrix,
        "lanes": per_processor * each.lanes,
        "special": per_processor * each.special,
        "loads": per_processor * each.load_store,
        "shared": per_processor * each.shared,
        "port": per_processor * each.cache_port,
        "warps": per_processor * work.warp_issued_cycles,
        "turns": per_processor * work.alternating_cycles,
    }
