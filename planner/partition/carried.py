"""A schedule of a block's groups, carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.block_order import put_last
from tlf.dialects.graph.held import holds, is_kept
from tlf.dialects.target import Level
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.merged import merge
from tlf.planner.partition.problem import BlockProblem
from tlf.support.partition import Schedule, Step, members


def carry_out(
    stated: BlockProblem, schedule: Schedule, level: Level
) -> list[graph.GroupOp | None]:
    """
    Make one group of each set of a schedule, with its plan, and put all that was stated
    in this order at the end of its block. Returns the group of each step, None for
    what is no group; the block may need to be sorted then.
    """
    made = list[graph.GroupOp | None]()
    ordered: list[Operation] = []
    current: dict[SSAValue, SSAValue] = {}
    for step in schedule.steps:
        picked = [stated.nodes[number] for number in members(step.group)]
        if not isinstance(step.option.plan, OuterPlan):
            first = picked[0]
            made.append(first if isinstance(first, graph.GroupOp) else None)
            ordered += picked
            continue
        merged, results = merge(picked)
        current.update(zip(results, merged.results, strict=True))
        merged.plan = _plan(merged, results, stated, step, current, level)
        made.append(merged)
        ordered.append(merged)
    put_last(ordered)
    return made


def _plan(
    merged: graph.GroupOp,
    results: Sequence[SSAValue],
    stated: BlockProblem,
    step: Step,
    current: Mapping[SSAValue, SSAValue],
    level: Level,
) -> graph.PlanAttr:
    """The plan of a step, with what stays in the level around it."""
    plan, context = step.option.plan, step.context
    assert isinstance(plan, OuterPlan)
    kept = _numbers(results, stated, context.kept, {})
    near = context.kept | context.resident
    held = _numbers(merged.inputs, stated, near, current)
    there = _numbers(merged.inputs, stated, context.resident, current)
    again = [n for n in held if n not in there and _was_near(merged.inputs[n])]
    return plan.attribute(level.name, kept, held, again)


def _was_near(value: SSAValue) -> bool:
    """Return `True` if a group with a plan already keeps a value or holds it."""
    users = ((use.operation, use.index) for use in value.uses)
    return is_kept(value) or any(
        isinstance(op, graph.GroupOp) and holds(op, number) for op, number in users
    )


def _numbers(
    values: Sequence[SSAValue],
    stated: BlockProblem,
    wanted: int,
    current: Mapping[SSAValue, SSAValue],
) -> list[int]:
    """
    Return the indices of those values that are in a set of a problem's values, as these
    are now.
    """
    picked = (stated.values[number] for number in members(wanted))
    found = {current.get(each, each) for each in picked}
    return [number for number, each in enumerate(values) if each in found]
