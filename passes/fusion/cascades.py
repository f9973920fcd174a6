"""
Groups that run as one because their reductions do, along one axis.

What a contraction computes for a reduction or another contraction along one of its own
axes need not be in memory, if all of them are in one loop along this axis. Whether that
pays is a question of time: the model of the target prices both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.target import Target
from tlf.passes.cost.estimator import Estimator
from tlf.passes.tiling.form import Forms
from tlf.passes.tiling.group import Members, members_of, rules_of
from tlf.passes.tiling.model import TilingError

Part: TypeAlias = Sequence[TilingInterface]
"""Operations that run together."""


@dataclass
class Cascades:
    """Finds groups to be joined, and prices them."""

    target: Target
    estimator: Estimator
    forms: Forms = field(default_factory=Forms)

    def candidates(self, groups: Mapping[Operation, Part]) -> Iterator[list[Part]]:
        """
        For each reduction of a block, its group and those before it that compute along
        the axis it reduces. Groups may be joined on the way.
        """
        for op in list(groups):
            if not isinstance(op, AccumulatingInterface):
                continue
            if len(self.forms.of(op).reductions) == 1:
                parts = _before(op, groups)
                if len(parts) > 1:
                    yield parts

    def pay(self, members: Members, parts: Sequence[Part]) -> bool:
        """Whether groups are one loop, and take less time so."""
        if members.cascade is None or (together := self._time(members)) is None:
            return False
        times = [self._time(members_of(part, self.forms)) for part in parts]
        return all(times) and together < sum(each or 0 for each in times)

    def _time(self, members: Members) -> int | None:
        """The time of a group with the best tiles there are, if there are some."""
        try:
            if (plan := self.estimator.plan(members)) is None:
                return None
            rules = rules_of(self.target, plan.level.data)
            tiling = members.tiling(plan.tile_sizes, plan.reduce_sizes, rules)
        except TilingError:
            return None
        return self.estimator.estimate(members, tiling, plan.stage_count).cycles


def _before(op: AccumulatingInterface, groups: Mapping[Operation, Part]) -> list[Part]:
    """
    The group of an operation, and those of all that it needs through operations of
    groups, up to contractions.
    """
    found = {id(groups[op]): groups[op]}
    pending, seen = list(op.inputs), set[Operation]()
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or owner not in groups or owner in seen:
            continue
        seen.add(owner)
        found[id(groups[owner])] = groups[owner]
        if not isinstance(owner, ContractionInterface):
            pending += owner.operands
    return list(found.values())
