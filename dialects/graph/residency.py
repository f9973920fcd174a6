"""Queries on the residency of group operands and results in the plan's memory level."""

from __future__ import annotations

from xdsl.ir import SSAValue, Use

from tlf.dialects.graph.group import GroupOp


def is_operand_resident(group: GroupOp, number: int) -> bool:
    """Return `True` if a group's plan holds an operand whole in its memory level."""
    return group.plan is not None and number in group.plan.resident_operands


def is_retained(value: SSAValue) -> bool:
    """
    Return `True` if the producing group's plan retains a value in its memory level.
    """
    group = value.owner
    if not isinstance(group, GroupOp) or group.plan is None:
        return False
    return list[SSAValue](group.results).index(value) in group.plan.retained_results


def needs_load(group: GroupOp, number: int) -> bool:
    """
    Return `True` if a group has to load an operand that is resident in its plan: if the
    plan reloads it, or if no group retains it and no earlier one of the block has
    loaded it.
    """
    if group.plan is None or number not in group.plan.resident_operands:
        return False
    value, block = group.inputs[number], group.parent
    if number in group.plan.reloaded_operands or block is None:
        return True
    holders = {use.operation for use in value.uses if _is_resident_use(use)}
    return (
        not is_retained(value)
        and next(op for op in block.ops if op in holders) is group
    )


def is_retained_use(use: Use) -> bool:
    """
    Return `True` if a group reads an operand that is still resident where a group of
    its block retains it, with no reload by itself or by a group in between.
    """
    value, user = use.operation.operands[use.index], use.operation
    if not is_retained(value) or not _is_resident_use(use):
        return False
    again = [each.operation for each in value.uses if _is_reloading_use(each)]
    return not any(op is user or op.is_before_in_block(user) for op in again)


def is_read_in_inner_level(value: SSAValue) -> bool:
    """Return `True` if all users of a value read it in the level that retains it."""
    return all(map(is_retained_use, value.uses))


def _is_resident_use(use: Use) -> bool:
    return isinstance(use.operation, GroupOp) and is_operand_resident(
        use.operation, use.index
    )


def _is_reloading_use(use: Use) -> bool:
    plan = use.operation.plan if isinstance(use.operation, GroupOp) else None
    return plan is not None and use.index in plan.reloaded_operands
