"""Analysis of the plan of a group: the halo policy that its tile analysis needs."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.dialects import graph, tile


def rolling_policy_of_plan(
    op: graph.GroupOp, plan: graph.PlanAttr
) -> RollingPolicy | None:
    """
    Return the halo policy of a plan; None if it has no sliding axis. Tiles of operands
    that are resident in the level are views, so their overlaps are never copied. Raises
    `TilingError` if an index of a value to recompute is out of range.
    """
    if (axis := plan.sliding_window_axis) is None:
        return None
    values = list[SSAValue](op.body.block.args)
    values += [result for each in op.body.block.ops for result in each.results]
    if any(not 0 <= index < len(values) for index in plan.recomputed_values):
        raise TilingError(
            op,
            f"expected indices below {len(values)} of values to recompute, "
            f"got {list(plan.recomputed_values)}",
        )
    resident = {
        argument
        for index, argument in enumerate(op.body.block.args)
        if index in plan.resident_operands
        or tile.level_of(op.inputs[index].type) == plan.level.data
    }
    recomputed = (values[index] for index in plan.recomputed_values)
    return RollingPolicy(axis, frozenset(recomputed) | resident, plan.has_prefetch)
