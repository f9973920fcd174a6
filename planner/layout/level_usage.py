"""
Planning of residency: bytes of a memory level that each planned group of a block uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.tiling.planned_halo_policy import rolling_policy_of_plan
from tlf.dialects import graph
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.npu_estimator import nest_predictor_on
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.tile_footprint import BufferRow, Footprint
from tlf.planner.cost.npu.tiled_group import TiledGroup
from tlf.planner.layout.layout_costs import planned_residency_of
from tlf.support.allocation import align_offset

Change = Counter[int]
"""Additional bytes by group index."""


@dataclass(eq=False)
class ResidencyInterval:
    """First to last index of the groups during which a whole tensor is in the level."""

    byte_count: int
    """Size in bytes."""
    first_group: int
    """Index of the group that computes or loads the tensor."""
    last_group: int
    """Index of the last group that reads it in the level."""

    def is_live_at(self, group_index: int) -> bool:
        """Return `True` if the tensor is live while a group runs."""
        return self.first_group <= group_index <= self.last_group


class LevelUse:
    """
    Bytes of a level that each group of a block uses: for its tiles, and for whole
    resident tensors.
    """

    def __init__(
        self,
        groups: Sequence[graph.GroupOp],
        target: TargetSpec,
        level: Level,
        memo: Memo | None = None,
    ) -> None:
        self.groups = groups
        self.level = level
        self._rules = tile_rules_of(target, level.name)
        self._model = OuterCostModel(target, level)
        self._nesting = nest_predictor_on(target, memo)
        self._rows: dict[int, tuple[BufferRow, ...]] = {}
        self._more = Change()
        self._placed: set[tuple[int, ResidencyInterval]] = set()
        self.residency_intervals = self._collect_intervals()
        """Residency intervals of each tensor in the level, in order."""

    def tensor_bytes_of(self, value: SSAValue) -> int:
        """Return the bytes of a tensor in the level."""
        return align_offset(byte_count(tensor_type(value)), self.level.alignment)

    def residency_interval_of(
        self, value: SSAValue, group_index: int
    ) -> ResidencyInterval | None:
        """Return the residency interval of a tensor that contains a group, or None."""
        intervals = self.residency_intervals.get(value, ())
        return next(
            (interval for interval in intervals if interval.is_live_at(group_index)),
            None,
        )

    def tiling_of_group(self, group_index: int) -> GroupTiling:
        """Return the tiling that the plan of the group at `group_index` describes."""
        group = self.groups[group_index]
        plan = group.plan
        assert plan is not None
        rolling = rolling_policy_of_plan(group, plan)
        members = members_of_group_op(group)
        sizes = plan.tile_sizes, plan.reduce_sizes
        return members.analyze_tiles_of_sizes(*sizes, self._rules, rolling)

    def buffer_rows_of(self, group_index: int) -> tuple[BufferRow, ...]:
        """Return the buffers of a group, without those that are live before it."""
        if group_index not in self._rows:
            group = self.groups[group_index]
            assert group.plan is not None
            residency: Residency = planned_residency_of(group)
            nests = self._nesting.predict_nests(members_of_group_op(group))
            tiled = TiledGroup(self._model, self.tiling_of_group(group_index), nests)
            footprint = tiled.footprint_of(group.plan.innermost_stage_count, residency)
            self._rows[group_index] = footprint.buffer_rows
        return self._rows[group_index]

    def bytes_in_use(
        self,
        group_index: int,
        buffer_rows: Sequence[BufferRow] | None = None,
        excluded_intervals: Iterable[ResidencyInterval] = (),
    ) -> int:
        """
        Return the bytes in use while a group runs; with other buffers of the group, and
        `excluded_intervals` some of the tensors that are live before it.
        """
        own_rows = (
            self.buffer_rows_of(group_index) if buffer_rows is None else buffer_rows
        )
        excluded = {*excluded_intervals}
        resident_bytes = sum(
            interval.byte_count
            for intervals in self.residency_intervals.values()
            for interval in intervals
            if interval.first_group < group_index <= interval.last_group
            and interval not in excluded
            and (group_index, interval) not in self._placed
        )
        return (
            Footprint(tuple(own_rows)).peak_bytes
            + resident_bytes
            + self._more[group_index]
        )

    def has_room_for(self, additional_bytes: Mapping[int, int]) -> bool:
        """Return `True` if groups have room for the given additional bytes."""
        return all(
            self.bytes_in_use(index) + size <= self.level.capacity
            for index, size in additional_bytes.items()
            if size > 0
        )

    def place_operands_in_result(
        self,
        group_index: int,
        buffer_rows: Sequence[BufferRow],
        operand_intervals: Iterable[ResidencyInterval],
        additional_bytes: Mapping[int, int],
    ) -> None:
        """Place tensors in the concat result of a group and update the bytes in use."""
        self._rows[group_index] = tuple(buffer_rows)
        self._placed.update((group_index, interval) for interval in operand_intervals)
        self._more.update(additional_bytes)

    def _collect_intervals(self) -> dict[SSAValue, list[ResidencyInterval]]:
        """
        Return the residency intervals of each tensor by the groups' plans; a reload
        starts a new interval.
        """
        intervals_of: dict[SSAValue, list[ResidencyInterval]] = {}
        for index, group in enumerate(self.groups):
            assert group.plan is not None
            for operand in group.plan.resident_operands:
                value = group.inputs[operand]
                intervals = intervals_of.setdefault(value, [])
                if not intervals or operand in group.plan.reloaded_operands:
                    intervals.append(
                        ResidencyInterval(self.tensor_bytes_of(value), index, index)
                    )
                intervals[-1].last_group = index
            for result in group.plan.retained_results:
                value = group.results[result]
                intervals_of[value] = [
                    ResidencyInterval(self.tensor_bytes_of(value), index, index)
                ]
        return intervals_of
