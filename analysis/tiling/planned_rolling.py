"""Halo policy that the plan of a group asks for."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.dialects import graph, tile


def rolling_of_plan(op: graph.GroupOp, plan: graph.PlanAttr) -> RollingPolicy | None:
    """The halo policy that a plan asks for. Of what is near, tiles are views."""
    if (axis := plan.sliding_axis) is None:
        return None
    values = list[SSAValue](op.body.block.args)
    values += [result for each in op.body.block.ops for result in each.results]
    if any(not 0 <= number < len(values) for number in plan.recomputed_values):
        raise TilingError(
            op,
            f"expected numbers below {len(values)} of values to recompute, "
            f"got {list(plan.recomputed_values)}",
        )
    near = {
        argument
        for number, argument in enumerate(op.body.block.args)
        if number in plan.resident_operands
        or tile.level_of(op.inputs[number].type) == plan.level.data
    }
    again = (values[number] for number in plan.recomputed_values)
    return RollingPolicy(axis, frozenset(again) | near, plan.has_prefetch)
