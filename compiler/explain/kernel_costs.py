"""Predicted costs of the groups of a program as kernels of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.tiling.model import GroupTiling
from tlf.dialects.graph import GroupOp, PlanAttr
from tlf.dialects.target import Target
from tlf.dialects.target.levels import level_named
from tlf.planner.cost.gpu.price import Price
from tlf.planner.cost.gpu.tiles import GpuTiles


def has_kernels(target: Target) -> bool:
    """Return `True` if a target has a model of the time of kernels."""
    return _model(target) is not None


def _model(target: Target) -> GpuTiles | None:
    return GpuTiles.of(target, level_named(target, None))


def kernel_costs_of(module: ModuleOp) -> Mapping[GroupOp, str]:
    """
    Return the predicted time of groups that have plans, its largest component, and the
    reductions that are fused into one loop.
    """
    target = Target.of(module)
    if (model := _model(target)) is None:
        return {}
    groups = (op for op in module.walk() if isinstance(op, GroupOp))
    clock = 1e3 * target.clock_ghz
    return {
        group: _cost(group, plan, model, clock)
        for group in groups
        if (plan := group.plan) is not None
    }


def _cost(group: GroupOp, plan: PlanAttr, model: GpuTiles, clock: float) -> str:
    members = members_of_group(group)
    tiling = members.tiling(plan.tile_sizes, plan.reduce_sizes, model.rules)
    price = model.kernels.price(tiling, plan.stage_count)
    return _told(price, clock) + _loop(tiling)


def _loop(tiling: GroupTiling) -> str:
    """The reductions that one loop computes, if there are any."""
    if (cascade := tiling.cascade) is None:
        return ""
    names = ", ".join(op.name.removeprefix("graph.") for op in cascade.steps)
    trips = prod(loop.trips for loop in tiling.inner_loops.values())
    return f"; {names} in one loop of {trips:,}"


def _told(price: Price, clock: float) -> str:
    """A price in words; `clock` is in cycles of a microsecond."""
    taken = price.resources
    return (
        f"predicted {price.cycles / clock:,.1f} us, {price.binding} "
        f"{price.times[price.binding] / clock:,.1f} of them; {price.programs:,} "
        f"programs, {price.resident} at once on a processor, {taken.warps} warps, "
        f"{taken.registers} registers, {taken.shared:,} bytes of shared memory"
    )
