"""
Cost model of NPU nests: prediction of the loop nests over inner tiles that operations
of a group share.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects.target import TargetSpec
from tlf.planner.fusion.block_grouping import BlockGrouping
from tlf.planner.fusion.cascade_fusion import CascadeFusion

Nests: TypeAlias = Mapping[Operation, int]
"""Nest index of each operation, in execution order."""


class NestPredictor:
    """
    Prediction of the nests of groups, cached by structure. Tiles passed from one nest
    to another are stored in the level next to the innermost.
    """

    def __init__(self, target: TargetSpec, cascades: CascadeFusion | None) -> None:
        innermost, outer, *_ = target.levels.values()
        self._grouping = BlockGrouping(
            innermost,
            target,
            collects_remarks=False,
            default_level=outer,
            cascade_fusion=cascades,
        )

    def predict_nests(self, members: GroupMembers) -> Nests:
        """
        Return the nests that `graph-group` forms of operations for the innermost level.
        Operations of different blocks share no nest.
        """
        grouping = self._grouping
        grouping.op_facts = members.op_facts
        blocks = dict.fromkeys(op.parent for op in members.operations)
        parts = [
            part
            for block in blocks
            if block is not None
            for part in grouping.partition_block(block)
        ]
        part_of = {op: index for index, part in enumerate(parts) for op in part}
        own: dict[Operation, Hashable] = {
            op: part_of.get(op, op) for op in members.operations
        }
        return assign_nest_indices(members.operations, own)


def assign_nest_indices(
    operations: Iterable[Operation], nest_keys: Mapping[Operation, Hashable]
) -> Nests:
    """
    Return the nest index of each operation; nests with equal keys in `nest_keys` are
    shared, and ordered by the position of their last operation. Keys without an
    executed operation have no index.
    """
    last = {nest_keys[op]: position for position, op in enumerate(operations)}
    order = sorted(last, key=last.__getitem__)
    indices = {part: index for index, part in enumerate(order)}
    return {op: indices[part] for op, part in nest_keys.items() if part in indices}
