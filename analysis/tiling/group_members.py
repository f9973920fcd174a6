"""Analysis of a group operation: its member operations and results."""

from __future__ import annotations

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface


def members_of_group_op(group: graph.GroupOp) -> GroupMembers:
    """
    Return the operations and results of a group. Raises `TilingError` if the group is
    empty or contains an operation that cannot be tiled.
    """
    operations: list[TilingInterface] = []
    for op in group.body.block.ops:
        if isinstance(op, graph.YieldOp):
            continue
        if not isinstance(op, TilingInterface):
            raise TilingError(op, "expected an operation that can be tiled")
        operations.append(op)
    if not operations:
        raise TilingError(group, "expected a group that computes something")
    return GroupMembers(tuple(operations), group.yielded_values)
