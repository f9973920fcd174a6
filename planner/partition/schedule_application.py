"""Apply a schedule: form the groups of a block and attach their plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.residency import is_operand_resident, is_retained
from tlf.dialects.target import Level
from tlf.dialects.topological_order import move_before_terminator
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.block_problem import BlockProblem
from tlf.planner.partition.merged_group import merge_operations
from tlf.support.partition import Schedule, Step, members


def apply_schedule(
    stated: BlockProblem, schedule: Schedule, level: Level
) -> list[graph.GroupOp | None]:
    """
    Form one group for each step of a schedule and attach its plan. Returns the group of
    each step, None for what is no group; the block may need to be sorted then.
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
        merged, results = merge_operations(picked)
        current.update(zip(results, merged.results, strict=True))
        merged.plan = _plan_of_step(merged, results, stated, step, current, level)
        made.append(merged)
        ordered.append(merged)
    move_before_terminator(ordered)
    return made


def _plan_of_step(
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
    kept = _indices_of(results, stated, context.retained, {})
    near = context.retained | context.resident
    held = _indices_of(merged.inputs, stated, near, current)
    there = _indices_of(merged.inputs, stated, context.resident, current)
    again = [n for n in held if n not in there and _is_resident(merged.inputs[n])]
    return plan.to_attribute(level.name, kept, held, again)


def _is_resident(value: SSAValue) -> bool:
    """Return `True` if a group with a plan already keeps a value or holds it."""
    users = ((use.operation, use.index) for use in value.uses)
    return is_retained(value) or any(
        isinstance(op, graph.GroupOp) and is_operand_resident(op, number)
        for op, number in users
    )


def _indices_of(
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
