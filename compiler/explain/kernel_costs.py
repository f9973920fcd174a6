"""Explanation of plans: predicted costs of groups as GPU kernels."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects.graph import GroupOp, PlanAttr
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_schedule import KernelSchedule


def has_kernel_model(target: TargetSpec) -> bool:
    """Return `True` if a target has a cost model of kernels."""
    return _kernel_estimator_of(target) is not None


def _kernel_estimator_of(target: TargetSpec) -> GpuEstimator | None:
    return GpuEstimator.create_for_level(target, find_tile_level(target, None))


def describe_kernel_costs(module: ModuleOp) -> Mapping[GroupOp, str]:
    """
    Return the predicted time of planned groups, its largest component, and the
    reductions that are fused into one loop.
    """
    target = TargetSpec.read_from_module(module)
    if (model := _kernel_estimator_of(target)) is None:
        return {}
    groups = (op for op in module.walk() if isinstance(op, GroupOp))
    clock = 1e3 * target.clock_ghz
    return {
        group: _describe_group_cost(group, plan, model, clock)
        for group in groups
        if (plan := group.plan) is not None
    }


def _describe_group_cost(
    group: GroupOp, plan: PlanAttr, model: GpuEstimator, clock: float
) -> str:
    """Estimate the kernel that `plan` gives for `group`; return its cost as text."""
    members = members_of_group_op(group)
    tiling = members.analyze_tiles_of_sizes(
        plan.tile_sizes, plan.reduce_sizes, model.rules
    )
    schedule = KernelSchedule.of_plan(plan)
    cost = model.kernels.estimate_cost(tiling, schedule)
    return _format_kernel_cost(cost, clock) + _describe_cascade(tiling)


def _describe_cascade(tiling: GroupTiling) -> str:
    """Return the reductions of the cascade, or an empty text if there is none."""
    if (cascade := tiling.cascade) is None:
        return ""
    names = ", ".join(op.name.removeprefix("graph.") for op in cascade.steps)
    trips = prod(loop.trips for loop in tiling.inner_loops.values())
    return f"; {names} in one loop of {trips:,}"


def _format_kernel_cost(cost: KernelCost, clock: float) -> str:
    """
    Format time in us, bottleneck and resources of a kernel; `clock` is in cycles per
    us.
    """
    resources = cost.resources
    return (
        f"predicted {cost.cycles / clock:,.1f} us, {cost.bottleneck} "
        f"{cost.time_by_resource[cost.bottleneck] / clock:,.1f} of them; "
        f"{cost.program_count:,} "
        f"programs, {cost.resident_programs} at once on a processor, "
        f"{resources.warp_count} warps, "
        f"{resources.registers_per_thread} registers, "
        f"{resources.shared_memory_bytes:,} bytes of shared memory"
    )
