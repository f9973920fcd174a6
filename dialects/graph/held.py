"""Residency of group operands and results in the memory level of the plans."""

from __future__ import annotations

from xdsl.ir import SSAValue, Use

from tlf.dialects.graph.group import GroupOp


def holds(group: GroupOp, number: int) -> bool:
    """
    Return `True` if an operand is resident, as a whole, in the level of a group's plan.
    """
    return group.plan is not None and number in group.plan.resident_operands


def is_kept(value: SSAValue) -> bool:
    """
    Return `True` if a value stays resident in the level where a group computes it.
    """
    group = value.owner
    if not isinstance(group, GroupOp) or group.plan is None:
        return False
    return list[SSAValue](group.results).index(value) in group.plan.retained_results


def brings(group: GroupOp, number: int) -> bool:
    """
    Return `True` if a group loads an operand that it holds: if its plan reloads it, or
    if no group keeps it and no earlier one of the block has loaded it.
    """
    if group.plan is None or number not in group.plan.resident_operands:
        return False
    value, block = group.inputs[number], group.parent
    if number in group.plan.reloaded_operands or block is None:
        return True
    holders = {use.operation for use in value.uses if _holds(use)}
    return not is_kept(value) and next(op for op in block.ops if op in holders) is group


def finds_kept(use: Use) -> bool:
    """
    Return `True` if a group finds an operand resident in the level where a group of its
    block keeps it, with no reload by itself or by a group in between.
    """
    value, user = use.operation.operands[use.index], use.operation
    if not is_kept(value) or not _holds(use):
        return False
    again = [each.operation for each in value.uses if _reloads(each)]
    return not any(op is user or op.is_before_in_block(user) for op in again)


def is_read_near(value: SSAValue) -> bool:
    """Return `True` if all readers of a value find it resident where it is kept."""
    return all(map(finds_kept, value.uses))


def _holds(use: Use) -> bool:
    return isinstance(use.operation, GroupOp) and holds(use.operation, use.index)


def _reloads(use: Use) -> bool:
    plan = use.operation.plan if isinstance(use.operation, GroupOp) else None
    return plan is not None and use.index in plan.reloaded_operands
