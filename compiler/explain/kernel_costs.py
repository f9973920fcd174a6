"""Explanation of costs: predicted costs of groups as GPU kernels."""

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


def has_kernel_model(target: TargetSpec) -> bool:
    """Return `True` if a target has a cost model of kernels."""
    return _estimator_of(target) is not None


def _estimator_of(target: TargetSpec) -> GpuEstimator | None:
    return GpuEstimator.of(target, find_tile_level(target, None))


def describe_kernel_costs(module: ModuleOp) -> Mapping[GroupOp, str]:
    """
    Return the predicted time of planned groups, its largest component, and the
    reductions that are fused into one loop.
    """
    target = TargetSpec.of(module)
    if (model := _estimator_of(target)) is None:
        return {}
    groups = (op for op in module.walk() if isinstance(op, GroupOp))
    clock = 1e3 * target.clock_ghz
    return {
        group: _describe_cost(group, plan, model, clock)
        for group in groups
        if (plan := group.plan) is not None
    }


def _describe_cost(
    group: GroupOp, plan: PlanAttr, model: GpuEstimator, clock: float
) -> str:
    members = members_of_group_op(group)
    tiling = members.tiling_with(plan.tile_sizes, plan.reduce_sizes, model.rules)
    cost = model.kernels.estimate_cost(tiling, plan.stage_count)
    return _describe_kernel(cost, clock) + _describe_cascade(tiling)


def _describe_cascade(tiling: GroupTiling) -> str:
    """Return the reductions of the cascade, or an empty text if there is none."""
    if (cascade := tiling.cascade) is None:
        return ""
    names = ", ".join(op.name.removeprefix("graph.") for op in cascade.steps)
    trips = prod(loop.trips for loop in tiling.inner_loops.values())
    return f"; {names} in one loop of {trips:,}"


def _describe_kernel(price: KernelCost, clock: float) -> str:
    """Return a cost as text; `clock` is in cycles per microsecond."""
    resources = price.resources
    return (
        f"predicted {price.cycles / clock:,.1f} us, {price.bottleneck} "
        f"{price.times[price.bottleneck] / clock:,.1f} of them; {price.programs:,} "
        f"programs, {price.resident} at once on a processor, {resources.warps} warps, "
        f"{resources.registers} registers, {resources.shared:,} bytes of shared memory"
    )
