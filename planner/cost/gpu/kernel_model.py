"""Cost model of a tiled group that runs as the programs of one GPU kernel."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.gpu.compute_model import ComputeModel
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import (
    KernelCost,
    KernelWork,
    estimate_kernel_cost,
)
from tlf.planner.cost.gpu.kernel_programs import KernelPrograms
from tlf.planner.cost.gpu.program_resources import ProgramResources, ResourceDemand
from tlf.planner.cost.gpu.register_live_ranges import RegisterLiveRanges
from tlf.planner.cost.gpu.unit_cycles import UnitCycles
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.planner.settings.search_budgets import KERNEL_SEARCH


@dataclass
class KernelModel:
    """Cost model that estimates a tiled group as one GPU kernel, without its code."""

    chip: Chip
    target: TargetSpec
    _demand: ResourceDemand | None = field(init=False, default=None)
    """Demand of the most recent tiling."""
    _programs: KernelPrograms | None = field(init=False, default=None)
    """Programs of the most recent tiling."""
    _cycles_per_element_by_op: dict[Operation, UnitCycles] = field(
        init=False, default_factory=dict[Operation, UnitCycles]
    )
    _factor_kinds: dict[Operation, str] = field(
        init=False, default_factory=dict[Operation, str]
    )

    _live_ranges: dict[Hashable, RegisterLiveRanges] = field(
        init=False, default_factory=dict[Hashable, RegisterLiveRanges]
    )

    def estimate_cost(self, tiling: GroupTiling, stages: int = 1) -> KernelCost:
        """Return the cost of a group; `stages` is the number of stages of its plan."""
        work = self.kernel_work_of(tiling, stages)
        cost = estimate_kernel_cost(work, self.chip)
        cost = replace(cost, is_persistent=self._can_persist(tiling, cost))
        cascade = tiling.cascade
        if cascade is None or cascade.has_only_independent_products:
            return cost
        return replace(
            cost, cycles=cost.cycles * TRITON_CALIBRATION.fused_reduction_slowdown
        )

    def _can_persist(self, tiling: GroupTiling, cost: KernelCost) -> bool:
        """
        Return `True` if programs that run one after the other on a processor may be
        one: the loads of a loop around a matrix product are then in flight while the
        results before it are stored. Loops of several products are slower.
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
        demand = self.resource_demand_of(tiling)
        return demand.can_exchange_results_in_loop(resources, cost.resident_programs)

    def program_resources_of(
        self, tiling: GroupTiling, stages: int = 1
    ) -> ProgramResources:
        """Return the resources of one program."""
        return self.resource_demand_of(tiling).program_resources_with(
            self._iterations_in_flight_of(tiling, stages)
        )

    def resource_demand_of(self, tiling: GroupTiling) -> ResourceDemand:
        """Return the resources of programs by the number of iterations in flight."""
        if self._demand is None or self._demand.tiling is not tiling:
            compute_model = ComputeModel(
                self.chip,
                self.target,
                tiling,
                self._cycles_per_element_by_op,
                self._factor_kinds,
            )
            self._demand = ResourceDemand(tiling, compute_model, self._live_ranges)
        return self._demand

    def kernel_work_of(self, tiling: GroupTiling, stages: int = 1) -> KernelWork:
        """Return the estimated work of a tiled group as a kernel with `stages`."""
        resources = self.program_resources_of(tiling, stages)
        return self._programs_of(tiling).total_work_with(resources)

    def min_cycles_of(self, tiling: GroupTiling) -> float:
        """Return a lower bound on the cycles of a group for any number of stages."""
        return self._programs_of(tiling).min_cycles

    def _programs_of(self, tiling: GroupTiling) -> KernelPrograms:
        """Return the programs of a tiling; those of the most recent one are kept."""
        if self._programs is None or self._programs.tiling is not tiling:
            self._programs = KernelPrograms(self.chip, self.resource_demand_of(tiling))
        return self._programs

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
