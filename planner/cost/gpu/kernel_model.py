"""Cost model of a tiled group that runs as the programs of one GPU kernel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.work.vector_step_costs import ScalarSteps
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.gpu.compute_model import ComputeModel
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import (
    KernelCost,
    KernelWork,
    estimate_kernel_cost,
)
from tlf.planner.cost.gpu.kernel_programs import KernelPrograms
from tlf.planner.cost.gpu.kernel_schedule import DEFAULT_SCHEDULE, KernelSchedule
from tlf.planner.cost.gpu.program_resources import ProgramResources, ResourceDemand
from tlf.planner.cost.gpu.register_live_ranges import RegisterLiveRanges
from tlf.planner.cost.gpu.unit_cycles import UnitCycles
from tlf.planner.cost.gpu.window_unrolling import (
    WindowUnrolling,
    window_unrollings_of,
)
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.planner.settings.search_budgets import KERNEL_SEARCH

MAX_WARPS = 32
"""Maximum number of warps of a program."""

RECENT_TILINGS = 128
"""
Maximum number of tilings whose models are kept: more than the neighbours of a tiling,
which a search bounds before it evaluates some of them.
"""


ProgramShape: TypeAlias = tuple[int | None, WindowUnrolling | None]
"""Number of warps of a program, and the tiles that it computes at once."""


@dataclass
class _TilingModels:
    """Models of the programs of a tiling, by their warps and alternating tiles."""

    tiling: GroupTiling
    computation: ComputeModel
    """Model of the computation of tiles, which programs of any warps share."""
    demands: dict[ProgramShape, ResourceDemand] = field(
        default_factory=dict[ProgramShape, ResourceDemand]
    )
    programs: dict[ProgramShape, KernelPrograms] = field(
        default_factory=dict[ProgramShape, KernelPrograms]
    )


@dataclass
class KernelModel:
    """Cost model that estimates a tiled group as one GPU kernel, without its code."""

    chip: Chip
    target: TargetSpec
    scalars: ScalarSteps = field(default_factory=ScalarSteps)
    """Scalar operations of elementwise operations."""
    _recent: dict[int, _TilingModels] = field(
        init=False, default_factory=dict[int, "_TilingModels"]
    )
    """Models of recent tilings, by the identity of the tiling."""
    _cycles_per_element_by_op: dict[Operation, UnitCycles] = field(
        init=False, default_factory=dict[Operation, UnitCycles]
    )
    _factor_kinds: dict[Operation, str] = field(
        init=False, default_factory=dict[Operation, str]
    )

    _live_ranges: dict[Hashable, RegisterLiveRanges] = field(
        init=False, default_factory=dict[Hashable, RegisterLiveRanges]
    )

    def estimate_cost(
        self, tiling: GroupTiling, schedule: KernelSchedule = DEFAULT_SCHEDULE
    ) -> KernelCost:
        """Return the cost of a group with the schedule of its plan."""
        work = self.kernel_work_of(tiling, schedule)
        cost = estimate_kernel_cost(work, self.chip)
        is_persistent = self._can_persist(tiling, cost, schedule)
        cost = replace(cost, is_persistent=is_persistent)
        slowdown = self._programs_of(tiling, schedule).fusion_slowdown
        if slowdown == 1.0:
            return cost
        return replace(
            cost,
            cycles=cost.cycles * slowdown,
            least_cycles_of_fewer_warps=cost.least_cycles_of_fewer_warps * slowdown,
            least_cycles_of_more_warps=cost.least_cycles_of_more_warps * slowdown,
        )

    def _can_persist(
        self, tiling: GroupTiling, cost: KernelCost, schedule: KernelSchedule
    ) -> bool:
        """
        Return `True` if programs that run one after the other on a processor may be
        one: the loads of a loop around a matrix product are then in flight while the
        results before it are stored. Loops of several products are slower, and those
        around loads of a residual: Triton 3.6 does not overlap their iterations.
        """
        resources = cost.resources
        running = cost.resident_programs * self.chip.processors
        if cost.wave_count == 1 or tiling.cascade is not None:
            return False
        iterations = TRITON_CALIBRATION.min_persistent_share * cost.wave_count * running
        if cost.program_count < iterations:
            return False
        if running != self.chip.count_persistent_programs(resources.warp_count):
            return False
        if not tiling.inner_loops or tiling.nested_loops or tiling.gathered_operations:
            return False
        if self._programs_of(tiling, schedule).reads_tiles_outside_loop:
            return False
        demand = self.resource_demand_of(tiling, schedule)
        return demand.can_exchange_results_in_loop(resources, cost.resident_programs)

    def program_resources_of(
        self, tiling: GroupTiling, schedule: KernelSchedule = DEFAULT_SCHEDULE
    ) -> ProgramResources:
        """Return the resources of one program."""
        return self.resource_demand_of(tiling, schedule).program_resources_with(
            self._iterations_in_flight_of(tiling, schedule.stages)
        )

    def resource_demand_of(
        self, tiling: GroupTiling, schedule: KernelSchedule = DEFAULT_SCHEDULE
    ) -> ResourceDemand:
        """
        Return the resources of programs with a schedule, by the number of iterations in
        flight.
        """
        models, shape = (
            self._models_of(tiling),
            self._program_shape_of(tiling, schedule),
        )
        if (demand := models.demands.get(shape)) is None:
            demand = models.demands[shape] = ResourceDemand(
                tiling, models.computation, self._live_ranges, *shape
            )
        return demand

    def _program_shape_of(
        self, tiling: GroupTiling, schedule: KernelSchedule
    ) -> ProgramShape:
        """Return the warps of a schedule, and the loop that it unrolls, if any."""
        if not schedule.unroll:
            return schedule.warps, None
        unrollings = window_unrollings_of(tiling)
        wanted = (e for e in unrollings if e.unroll_factors == schedule.unroll)
        return schedule.warps, next(wanted, None)

    def _models_of(self, tiling: GroupTiling) -> _TilingModels:
        """Return the models of a tiling; those of `RECENT_TILINGS` are kept."""
        if (models := self._recent.get(id(tiling))) is not None:
            return models
        if len(self._recent) == RECENT_TILINGS:
            self._recent.clear()
        caches = self._cycles_per_element_by_op, self._factor_kinds, self.scalars
        computation = ComputeModel(self.chip, self.target, tiling, *caches)
        models = self._recent[id(tiling)] = _TilingModels(tiling, computation)
        return models

    def kernel_work_of(
        self, tiling: GroupTiling, schedule: KernelSchedule = DEFAULT_SCHEDULE
    ) -> KernelWork:
        """Return the estimated work of a tiled group as a kernel with a schedule."""
        resources = self.program_resources_of(tiling, schedule)
        return self._programs_of(tiling, schedule).total_work_with(resources)

    def min_cycles_of(
        self, tiling: GroupTiling, warps: int | None, max_stages: int
    ) -> float:
        """
        Return a lower bound on the cycles of a group with `warps`, or with the default
        number of warps, for at most `max_stages` stages.
        """
        programs = self._programs_of(tiling, KernelSchedule(warps=warps))
        return programs.min_cycles_of_computation(max_stages)

    def min_cycles_with_moves_of(
        self, tiling: GroupTiling, warps: int | None, max_stages: int
    ) -> float:
        """Return a closer bound than `min_cycles_of`, which takes longer to compute."""
        programs = self._programs_of(tiling, KernelSchedule(warps=warps))
        return programs.min_cycles_with_moves(max_stages)

    def min_cycles_with_resources_of(
        self, tiling: GroupTiling, schedules: Sequence[KernelSchedule], max_stages: int
    ) -> float:
        """
        Return a closer bound than `min_cycles_with_moves_of`, on the cycles with any of
        some schedules of equal warps, by the number of resident programs; infinite if
        the resources of all exceed the limits.
        """
        resources = (self.program_resources_of(tiling, each) for each in schedules)
        resident = [
            each.count_resident_programs(self.chip)
            for each in resources
            if each.is_within_limits(self.chip)
        ]
        if not resident:
            return inf
        programs = self._programs_of(tiling, schedules[0])
        return programs.min_cycles_with_moves(max_stages, max(resident))

    def _programs_of(
        self, tiling: GroupTiling, schedule: KernelSchedule
    ) -> KernelPrograms:
        """Return the programs of a tiling; those of recent ones are kept."""
        known = self._models_of(tiling).programs
        shape = self._program_shape_of(tiling, schedule)
        if (programs := known.get(shape)) is None:
            demand = self.resource_demand_of(tiling, schedule)
            programs = known[shape] = KernelPrograms(self.chip, demand)
        return programs

    def default_warp_count_of(self, tiling: GroupTiling) -> int:
        """Return the number of warps that follows from the tile sizes."""
        return self.resource_demand_of(tiling).warp_count

    def warp_counts_of(self, tiling: GroupTiling, most: int | None) -> Sequence[int]:
        """Return the numbers of warps that programs may have, ascending."""
        least = self.resource_demand_of(tiling).min_warp_count
        most = min(most or MAX_WARPS, self.chip.gpu.warps)
        return [1 << log for log in range(most.bit_length()) if least <= 1 << log]

    def _iterations_in_flight_of(self, tiling: GroupTiling, stages: int) -> int:
        """
        Return the iterations in flight; loops around matrix products default to
        `default_stages`.
        """
        if stages > 1:
            return stages
        return KERNEL_SEARCH.default_stages if self.has_matrix_products(tiling) else 1

    def has_matrix_products(self, tiling: GroupTiling) -> bool:
        """Return `True` if a group has a product that matrix instructions compute."""
        return self.resource_demand_of(tiling).has_matrix_products
