"""
IR utility of the `graph` dialect: queries on group operands and results that a plan
keeps in its memory level.
"""

from __future__ import annotations

from xdsl.ir import SSAValue, Use

from tlf.dialects.graph.group import GroupOp


def is_operand_resident(group: GroupOp, operand_index: int) -> bool:
    """Return `True` if an operand is resident in the level of the group's plan."""
    return group.plan is not None and operand_index in group.plan.resident_operands


def is_retained(value: SSAValue) -> bool:
    """Return `True` if the plan of the producing group retains a value in its level."""
    group = value.owner
    if not isinstance(group, GroupOp) or group.plan is None:
        return False
    return list[SSAValue](group.results).index(value) in group.plan.retained_results


def needs_load(group: GroupOp, operand_index: int) -> bool:
    """
    Return `True` if a group loads an operand that is resident in its plan: if the plan
    reloads it, or if no group retains it and no earlier group of the block loads it.
    """
    if group.plan is None or operand_index not in group.plan.resident_operands:
        return False
    value, block = group.inputs[operand_index], group.parent
    if operand_index in group.plan.reloaded_operands or block is None:
        return True
    resident_users = {
        use.operation for use in value.uses if _is_use_of_resident_operand(use)
    }
    return (
        not is_retained(value)
        and next(op for op in block.ops if op in resident_users) is group
    )


def is_retained_use(use: Use) -> bool:
    """
    Return `True` if a group reads the retained copy of an operand, which neither the
    group itself nor a group before it reloads.
    """
    value, user = use.operation.operands[use.index], use.operation
    if not is_retained(value) or not _is_use_of_resident_operand(use):
        return False
    reloading = [each.operation for each in value.uses if _is_use_that_reloads(each)]
    return not any(op is user or op.is_before_in_block(user) for op in reloading)


def is_read_only_in_inner_level(value: SSAValue) -> bool:
    """Return `True` if all users of a value read it in the level that retains it."""
    return all(map(is_retained_use, value.uses))


def _is_use_of_resident_operand(use: Use) -> bool:
    return isinstance(use.operation, GroupOp) and is_operand_resident(
        use.operation, use.index
    )


def _is_use_that_reloads(use: Use) -> bool:
    plan = use.operation.plan if isinstance(use.operation, GroupOp) else None
    return plan is not None and use.index in plan.reloaded_operands
