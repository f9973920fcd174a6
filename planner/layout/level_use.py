"""Memory use of a level by groups with plans, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.tiling.model import GroupTiling
from tlf.analysis.tiling.planned import rolling_of
from tlf.dialects import graph
from tlf.dialects.target import Level, Target
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.footprint import Footprint, Row
from tlf.planner.cost.npu.keeping import Keeping
from tlf.planner.cost.npu.outer import OuterModel
from tlf.planner.cost.npu.tiled_group import TiledGroup
from tlf.planner.cost.npu.timed import nesting_on
from tlf.planner.layout.costs import keeping_of
from tlf.support.allocation import align

Change = Counter[int]
"""Bytes that some groups take more, by their numbers."""


@dataclass(eq=False)
class Stay:
    """That a tensor lies in the level, whole, from one group to a later one."""

    size: int
    """Bytes."""
    first: int
    """The group that makes it or brings it, by number."""
    last: int
    """The last one that reads it there."""

    def covers(self, number: int) -> bool:
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
        target: Target,
        level: Level,
        memo: Memo | None = None,
    ) -> None:
        self.groups = groups
        self.level = level
        self._rules = rules_of(target, level.name)
        self._model = OuterModel(target, level)
        self._nesting = nesting_on(target, memo)
        self._rows: dict[int, tuple[Row, ...]] = {}
        self._more = Change()
        self._placed: set[tuple[int, Stay]] = set()
        self.stays = self._found()
        """The stays of each tensor in the level, in order."""

    def size(self, value: SSAValue) -> int:
        """The bytes of a tensor in the level."""
        return align(byte_count(tensor_type(value)), self.level.alignment)

    def stay(self, value: SSAValue, number: int) -> Stay | None:
        """The time in which a tensor lies in the level while a group runs, if any."""
        stays = self.stays.get(value, ())
        return next((stay for stay in stays if stay.covers(number)), None)

    def tiling(self, number: int) -> GroupTiling:
        """The tiles that the plan of a group asks for."""
        group = self.groups[number]
        plan = group.plan
        assert plan is not None
        rolling = rolling_of(group, plan)
        members = members_of_group(group)
        sizes = plan.tile_sizes, plan.reduce_sizes
        return members.tiling(*sizes, self._rules, rolling)

    def rows(self, number: int) -> tuple[Row, ...]:
        """The buffers of a group, without those that are there before it."""
        if number not in self._rows:
            group = self.groups[number]
            assert group.plan is not None
            keeping: Keeping = keeping_of(group)
            nests = self._nesting.of(members_of_group(group))
            tiled = TiledGroup(self._model, self.tiling(number), nests)
            footprint = tiled.footprint(group.plan.innermost_stages, keeping)
            self._rows[number] = footprint.rows
        return self._rows[number]

    def taken(
        self,
        number: int,
        rows: Sequence[Row] | None = None,
        without: Iterable[Stay] = (),
    ) -> int:
        """
        Return the bytes in use while a group runs; with other buffers for it, and
        `without` some tensors that are there before.
        """
        own = self.rows(number) if rows is None else rows
        gone = {*without}
        around = sum(
            stay.size
            for stays in self.stays.values()
            for stay in stays
            if stay.first < number <= stay.last
            and stay not in gone
            and (number, stay) not in self._placed
        )
        return Footprint(tuple(own)).needed + around + self._more[number]

    def has_room(self, more: Mapping[int, int]) -> bool:
        """Return `True` if groups have room for the given additional bytes."""
        return all(
            self.taken(number) + size <= self.level.capacity
            for number, size in more.items()
            if size > 0
        )

    def join(
        self,
        number: int,
        rows: Sequence[Row],
        parts: Iterable[Stay],
        more: Mapping[int, int],
    ) -> None:
        """
        Let tensors be parts of one that a group joins: it has other buffers then, and
        others take so much more.
        """
        self._rows[number] = tuple(rows)
        self._placed.update((number, stay) for stay in parts)
        self._more.update(more)

    def _found(self) -> dict[SSAValue, list[Stay]]:
        found: dict[SSAValue, list[Stay]] = {}
        for number, group in enumerate(self.groups):
            assert group.plan is not None
            for operand in group.plan.resident_operands:
                value = group.inputs[operand]
                stays = found.setdefault(value, [])
                if not stays or operand in group.plan.reloaded_operands:
                    stays.append(Stay(self.size(value), number, number))
                stays[-1].last = number
            for result in group.plan.retained_results:
                value = group.results[result]
                found[value] = [Stay(self.size(value), number, number)]
        return found
