"""
Application of the planner's schedule to a block: form its groups and attach their
plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.residency import is_operand_resident, is_retained
from tlf.dialects.target import Level
from tlf.dialects.topological_order import move_before_terminator
from tlf.passes.plan.group_merging import merge_into_group
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.block_problem import BlockProblem
from tlf.support.partition import Schedule, Step, elements_of_mask


def apply_schedule(
    block_problem: BlockProblem, schedule: Schedule, level: Level
) -> list[graph.GroupOp | None]:
    """
    Form one group for each step of a schedule and attach its plan. Return the group of
    each step, None for a step without a group; the block may need to be sorted
    afterwards.
    """
    groups = list[graph.GroupOp | None]()
    ordered: list[Operation] = []
    current: dict[SSAValue, SSAValue] = {}
    for step in schedule.steps:
        operations = [
            block_problem.nodes[index] for index in elements_of_mask(step.group)
        ]
        if not isinstance(step.option.plan, OuterPlan):
            first = operations[0]
            groups.append(first if isinstance(first, graph.GroupOp) else None)
            ordered += operations
            continue
        merged, results = merge_into_group(operations)
        current.update(zip(results, merged.results, strict=True))
        merged.plan = _plan_attribute_of_step(
            merged, results, block_problem, step, current, level
        )
        groups.append(merged)
        ordered.append(merged)
    move_before_terminator(ordered)
    return groups


def _plan_attribute_of_step(
    group: graph.GroupOp,
    results: Sequence[SSAValue],
    block_problem: BlockProblem,
    step: Step,
    replacement_map: Mapping[SSAValue, SSAValue],
    level: Level,
) -> graph.PlanAttr:
    """Return the plan of a step, with the values resident around it."""
    plan, context = step.option.plan, step.context
    assert isinstance(plan, OuterPlan)
    retained = _indices_of_selected_values(results, block_problem, context.retained, {})
    around = context.retained | context.resident
    resident_operands = _indices_of_selected_values(
        group.inputs, block_problem, around, replacement_map
    )
    resident_before = _indices_of_selected_values(
        group.inputs, block_problem, context.resident, replacement_map
    )
    reloaded = [
        n
        for n in resident_operands
        if n not in resident_before and _is_resident_in_level(group.inputs[n])
    ]
    return plan.to_plan_attribute(level.name, retained, resident_operands, reloaded)


def _is_resident_in_level(value: SSAValue) -> bool:
    """
    Return `True` if a group that has a plan already retains a value or has it as a
    resident operand.
    """
    users = ((use.operation, use.index) for use in value.uses)
    return is_retained(value) or any(
        isinstance(op, graph.GroupOp) and is_operand_resident(op, index)
        for op, index in users
    )


def _indices_of_selected_values(
    values: Sequence[SSAValue],
    block_problem: BlockProblem,
    value_set: int,
    replacement_map: Mapping[SSAValue, SSAValue],
) -> list[int]:
    """
    Return the indices of the values that are in the set `value_set` of the problem's
    values, mapped to their current replacements.
    """
    selected = (block_problem.values[index] for index in elements_of_mask(value_set))
    replacements = {replacement_map.get(each, each) for each in selected}
    return [index for index, each in enumerate(values) if each in replacements]
