"""Bytes of a memory level that each planned group of a block uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.tiling.planned_rolling import rolling_of_plan
from tlf.dialects import graph
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.npu_estimator import nest_predictor_on
from tlf.planner.cost.npu.outer_model import OuterModel
from tlf.planner.cost.npu.tile_footprint import BufferRow, Footprint
from tlf.planner.cost.npu.tiled_group import TiledGroup
from tlf.planner.layout.layout_costs import residency_of
from tlf.support.allocation import align

Change = Counter[int]
"""Bytes that some groups take more, by their numbers."""


@dataclass(eq=False)
class ResidencyInterval:
    """Residency interval of a whole tensor in the level, in groups."""

    size: int
    """Bytes."""
    first: int
    """The group that makes it or brings it, by number."""
    last: int
    """The last one that reads it there."""

    def is_live_at(self, number: int) -> bool:
        """Return `True` if the tensor is live while a group runs."""
        return self.first <= number <= self.last


class LevelUse:
    """
    The bytes of a level that each group of a block takes: for its tiles, and for
    tensors that lie there whole.
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
        self._model = OuterModel(target, level)
        self._nesting = nest_predictor_on(target, memo)
        self._rows: dict[int, tuple[BufferRow, ...]] = {}
        self._more = Change()
        self._placed: set[tuple[int, ResidencyInterval]] = set()
        self.stays = self._collect_intervals()
        """The stays of each tensor in the level, in order."""

    def bytes_of(self, value: SSAValue) -> int:
        """The bytes of a tensor in the level."""
        return align(byte_count(tensor_type(value)), self.level.alignment)

    def interval_of(self, value: SSAValue, number: int) -> ResidencyInterval | None:
        """The time in which a tensor lies in the level while a group runs, if any."""
        stays = self.stays.get(value, ())
        return next((stay for stay in stays if stay.is_live_at(number)), None)

    def tiling_of(self, number: int) -> GroupTiling:
        """The tiles that the plan of a group asks for."""
        group = self.groups[number]
        plan = group.plan
        assert plan is not None
        rolling = rolling_of_plan(group, plan)
        members = members_of_group_op(group)
        sizes = plan.tile_sizes, plan.reduce_sizes
        return members.tiling_with(*sizes, self._rules, rolling)

    def rows_of(self, number: int) -> tuple[BufferRow, ...]:
        """The buffers of a group, without those that are there before it."""
        if number not in self._rows:
            group = self.groups[number]
            assert group.plan is not None
            keeping: Residency = residency_of(group)
            nests = self._nesting.predict_nests(members_of_group_op(group))
            tiled = TiledGroup(self._model, self.tiling_of(number), nests)
            footprint = tiled.footprint_of(group.plan.innermost_stages, keeping)
            self._rows[number] = footprint.rows
        return self._rows[number]

    def bytes_in_use(
        self,
        number: int,
        rows: Sequence[BufferRow] | None = None,
        without: Iterable[ResidencyInterval] = (),
    ) -> int:
        """
        Return the bytes in use while a group runs; with other buffers for it, and
        `without` some tensors that are there before.
        """
        own = self.rows_of(number) if rows is None else rows
        gone = {*without}
        around = sum(
            stay.size
            for stays in self.stays.values()
            for stay in stays
            if stay.first < number <= stay.last
            and stay not in gone
            and (number, stay) not in self._placed
        )
        return Footprint(tuple(own)).peak_bytes + around + self._more[number]

    def has_room(self, more: Mapping[int, int]) -> bool:
        """Return `True` if groups have room for the given additional bytes."""
        return all(
            self.bytes_in_use(number) + size <= self.level.capacity
            for number, size in more.items()
            if size > 0
        )

    def place_in_result(
        self,
        number: int,
        rows: Sequence[BufferRow],
        parts: Iterable[ResidencyInterval],
        more: Mapping[int, int],
    ) -> None:
        """Place tensors in the concat result of a group and update the bytes in use."""
        self._rows[number] = tuple(rows)
        self._placed.update((number, stay) for stay in parts)
        self._more.update(more)

    def _collect_intervals(self) -> dict[SSAValue, list[ResidencyInterval]]:
        found: dict[SSAValue, list[ResidencyInterval]] = {}
        for number, group in enumerate(self.groups):
            assert group.plan is not None
            for operand in group.plan.resident_operands:
                value = group.inputs[operand]
                stays = found.setdefault(value, [])
                if not stays or operand in group.plan.reloaded_operands:
                    stays.append(
                        ResidencyInterval(self.bytes_of(value), number, number)
                    )
                stays[-1].last = number
            for result in group.plan.retained_results:
                value = group.results[result]
                found[value] = [ResidencyInterval(self.bytes_of(value), number, number)]
        return found
