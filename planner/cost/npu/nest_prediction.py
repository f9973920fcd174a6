"""Predict which operations of a group share a nest over inner tiles."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects.target import TargetSpec
from tlf.planner.fusion.cascade_fusion import CascadeFusion
from tlf.planner.fusion.grouping import Grouping

Nests: TypeAlias = Mapping[Operation, int]
"""The nest of each operation, by number, in the order in which they run."""


class NestPredictor:
    """
    Prediction of the nests of groups, cached by structure. Tiles that one hands to
    another lie in the level next to the nearest.
    """

    def __init__(self, target: TargetSpec, cascades: CascadeFusion | None) -> None:
        nearest, home, *_ = target.levels.values()
        self._grouping = Grouping(nearest, target, reports=False, home=home)
        self._grouping.cascades = cascades

    def predict_nests(self, members: GroupMembers) -> Nests:
        """
        The nests that `graph-group` makes of operations for the nearest level.
        Operations of several blocks share none across blocks.
        """
        grouping = self._grouping
        grouping.forms = members.op_facts
        blocks = dict.fromkeys(op.parent for op in members.operations)
        parts = [
            part
            for block in blocks
            if block is not None
            for part in grouping.partition_block(block)
        ]
        part_of = {op: number for number, part in enumerate(parts) for op in part}
        own: dict[Operation, Hashable] = {
            op: part_of.get(op, op) for op in members.operations
        }
        return number_nests(members.operations, own)


def number_nests(
    operations: Iterable[Operation], parts: Mapping[Operation, Hashable]
) -> Nests:
    """
    Numbers for parts that share a nest, by their last operations as these run. Parts of
    which none runs have no number.
    """
    last = {parts[op]: position for position, op in enumerate(operations)}
    order = sorted(last, key=last.__getitem__)
    numbers = {part: number for number, part in enumerate(order)}
    return {op: numbers[part] for op, part in parts.items() if part in numbers}
