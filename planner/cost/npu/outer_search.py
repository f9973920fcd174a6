"""Tiles for an outer level, with reductions whole or in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Self

from tlf.planner.cost.npu.keeping import Keeping
from tlf.planner.cost.npu.outer_plan import OuterPlan, Sizes
from tlf.planner.cost.npu.sizes import halves
from tlf.planner.cost.npu.tile_search import STAGES, TileSearch

POOR = 1.25
"""
Only a plan that takes more than this times of what no tiles beat may gain by a
reduction in pieces, whose sums are moved for each.
"""

PATIENCE = 2
"""So many sizes of pieces in a row that are no better end the search for others."""


@dataclass
class OuterSearch(TileSearch):
    """
    Looks for the fastest plan of a group, whatever its reduction: whole, or in pieces
    where factors are so long that only thin tiles of them have room.
    """

    _cut: dict[Sizes, OuterSearch] = field(default_factory=dict[Sizes, "OuterSearch"])
    """The searches for plans with pieces of some sizes."""
    _cut_by_keeping: dict[Keeping, dict[Sizes, OuterSearch]] = field(
        default_factory=dict[Keeping, "dict[Sizes, OuterSearch]"]
    )

    def around(self, keeping: Keeping, room: int) -> Self:
        made = super().around(keeping, room)
        made._cut = self._cut_by_keeping.setdefault(keeping, {})
        return made

    def best(self) -> OuterPlan | None:
        best = super().best()
        pieces = [] if self.reduce else self._pieces()
        if not pieces or (best is not None and not self._is_poor(best)):
            return best
        worse = 0
        for reduce in pieces:
            plan = self._in_pieces(reduce).best()
            if plan is not None and (best is None or plan.rank < best.rank):
                best, worse = plan, 0
            elif best is not None and (worse := worse + 1) == PATIENCE:
                break
        return best

    def ranked(self, count: int) -> list[OuterPlan]:
        """
        The best few of the plans that are on the way to the best one, of those near the
        best with tiles in flight, and of those that compute products anew.
        """
        for roll in (None, *self._rolled_axes()):
            for stages in self.freedom.counts((STAGES, 1)):
                for start in self._starts(roll, stages):
                    self._climb(start)
        self.whole()
        in_flight = (plan for plan in self._priced() if plan.stages >= STAGES)
        if (best := min(in_flight, key=_rank_of, default=None)) is not None:
            self._refined(best)
        if not self.reduce:
            self._price_anew()
        plans = [*self._priced()]
        for search in self._cut.values():
            plans += search.ranked(count)
        return sorted(plans, key=_rank_of)[:count]

    def _priced(self) -> Iterator[OuterPlan]:
        """The plans that were priced and fit, but for those that lead."""
        for plan in self.known.values():
            if plan is not None and not plan.leads and plan.needed <= self.capacity:
                yield plan

    def _price_anew(self) -> None:
        """
        Price two tiles in flight along each axis along which products are computed anew
        for every tile: what is moved may take longer than that.
        """
        whole = self.axes.parallel
        for axis, size in enumerate(whole):
            if size % 2 or self.axes.free[axis] or not self.freedom.may_cut(axis):
                continue
            sizes = (*whole[:axis], size // 2, *whole[axis + 1 :])
            for stages in self.freedom.counts((STAGES,)):
                self.plan(sizes, None, stages)

    def least(self) -> int | None:
        least = super().least()
        if self.reduce or (least is not None and least <= self.capacity):
            return least
        *_, smallest = self._pieces() or [None]
        cut = None if smallest is None else self._in_pieces(smallest).least()
        return min((each for each in (least, cut) if each is not None), default=None)

    def plan(
        self,
        sizes: Sequence[int],
        roll: int | None,
        stages: int,
        leads: bool = False,
    ) -> OuterPlan | None:
        """
        The plan with some sizes, those of pieces behind those of tiles, or None where
        it is illegal or does not fit.
        """
        count = len(self.axes.parallel)
        if len(sizes) == count:
            return super().plan(sizes, roll, stages, leads)
        reduce = tuple(sizes[count:])
        return self._in_pieces(reduce).plan(sizes[:count], roll, stages, leads)

    def _is_poor(self, plan: OuterPlan) -> bool:
        """Return `True` if the time of a plan is far from the lower bound."""
        if self.bound is None:
            return True
        return plan.cost.cycles > POOR * self.bound.of(self.keeping).cycles

    def _pieces(self) -> list[Sizes]:
        """Pieces along the longest axis of the reduction that is free, long first."""
        axes = self.axes
        free = [at for at, is_free in enumerate(axes.reduction_free) if is_free]
        if not free:
            return []
        longest = max(free, key=axes.reduction.__getitem__)
        return [
            (*axes.reduction[:longest], size, *axes.reduction[longest + 1 :])
            for size in reversed(halves(axes.reduction[longest], 1)[:-1])
        ]

    def _in_pieces(self, reduce: Sizes) -> OuterSearch:
        """The search for plans with pieces of some sizes."""
        if reduce not in self._cut:
            made = self._cut[reduce] = copy(self)
            made.reduce, made.known, made._rooms, made._cut = reduce, {}, {}, {}
        found = self._cut[reduce]
        found.capacity = self.capacity
        return found


def _rank_of(plan: OuterPlan) -> tuple[int, int, int]:
    return plan.rank
