"""What groups find in the level of their plans, and what they bring there."""

from __future__ import annotations

from xdsl.ir import SSAValue, Use

from tlf.dialects.graph.group import GroupOp


def holds(group: GroupOp, number: int) -> bool:
    """Whether an operand lies in the level of a group's plan, whole."""
    return group.plan is not None and number in group.plan.held


def is_kept(value: SSAValue) -> bool:
    """Whether a value stays in the level where a group computes it."""
    group = value.owner
    if not isinstance(group, GroupOp) or group.plan is None:
        return False
    return list[SSAValue](group.results).index(value) in group.plan.kept


def brings(group: GroupOp, number: int) -> bool:
    """
    Whether a group brings an operand that it holds: where it is to, and where no group
    keeps it and no earlier one of the block has brought it.
    """
    if group.plan is None or number not in group.plan.held:
        return False
    value, block = group.inputs[number], group.parent
    if number in group.plan.reloaded or block is None:
        return True
    holders = {use.operation for use in value.uses if _holds(use)}
    return not is_kept(value) and next(op for op in block.ops if op in holders) is group


def finds_kept(use: Use) -> bool:
    """
    Whether a group finds an operand in the level where a group of its block keeps it,
    and not where it, or a group in between, brings it anew.
    """
    value, user = use.operation.operands[use.index], use.operation
    if not is_kept(value) or not _holds(use):
        return False
    again = [each.operation for each in value.uses if _reloads(each)]
    return not any(op is user or op.is_before_in_block(user) for op in again)


def is_read_near(value: SSAValue) -> bool:
    """Whether all that read a value find it where it is kept."""
    return all(map(finds_kept, value.uses))


def _holds(use: Use) -> bool:
    return isinstance(use.operation, GroupOp) and holds(use.operation, use.index)


def _reloads(use: Use) -> bool:
    plan = use.operation.plan if isinstance(use.operation, GroupOp) else None
    return plan is not None and use.index in plan.reloaded
