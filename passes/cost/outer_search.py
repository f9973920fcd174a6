"""Tiles, halo policy and iterations in flight for a group at an outer level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.dialects import graph
from tlf.passes.cost.nearest import options
from tlf.passes.cost.nests import Nests
from tlf.passes.cost.outer import Keeping, OuterCost, OuterModel
from tlf.passes.placement import live_bytes
from tlf.passes.tiling.group import Members
from tlf.passes.tiling.model import GroupTiling, TilingError
from tlf.passes.tiling.rolling import Rolling

Sizes: TypeAlias = tuple[int, ...]

STAGES = 2
"""Iterations in flight, where they overlap: one is moved while another is computed."""


@dataclass(frozen=True)
class OuterPlan:
    """How a group is tiled, and what that costs."""

    tile: Sizes
    roll: int | None
    stages: int
    cost: OuterCost
    needed: int
    """Bytes of the level."""

    @property
    def rank(self) -> tuple[int, int, int]:
        """Plans are better the faster they are, then the less they move."""
        return self.cost.cycles, self.cost.bytes, self.needed

    def attribute(self, level: str) -> graph.PlanAttr:
        """The plan of a group."""
        roll = () if self.roll is None else (self.roll,)
        return graph.PlanAttr(level, self.tile, stages=self.stages, roll=roll)


@dataclass
class OuterSearch:
    """
    Looks for the fastest plan of a group: from the largest tiles that fit, grown in a
    few orders of axes, to better neighbours.
    """

    members: Members
    nests: Nests
    model: OuterModel
    capacity: int
    keeping: Keeping = field(default_factory=Keeping)
    known: dict[tuple[Sizes, int | None, int], OuterPlan | None] = field(
        default_factory=dict[tuple[Sizes, int | None, int], "OuterPlan | None"]
    )

    def best(self) -> OuterPlan | None:
        """The best plan, or None where not even the smallest tiles fit."""
        self.axes = self.members.axes(self.model.rules)
        self.chains = [
            options(extent) if free else (extent,)
            for extent, free in zip(self.axes.parallel, self.axes.free, strict=True)
        ]
        found: list[OuterPlan] = []
        for roll in (None, *self._rolled_axes()):
            for stages in (1, STAGES):
                for start in self._starts(roll, stages):
                    found.append(self._climb(start))
        return min(found, key=lambda plan: plan.rank, default=None)

    def _rolled_axes(self) -> Iterator[int]:
        """The axes along which tiles overlap."""
        for axis, extent in enumerate(self.axes.parallel):
            if not self.axes.free[axis] or extent == 1:
                continue
            sizes = list(self.axes.parallel)
            sizes[axis] = (extent + 1) // 2
            tiling = self._tiling(tuple(sizes), axis)
            if tiling is not None and tiling.windows:
                yield axis

    def _starts(self, roll: int | None, stages: int) -> Iterator[OuterPlan]:
        whole = self.plan(self.axes.parallel, roll, stages)
        if whole is not None:
            yield whole
            if stages == 1:
                return
        axes = list(range(len(self.chains)))
        seen = set[Sizes]()
        for order in (axes[::-1], axes):
            sizes = tuple(each[0] for each in self.chains)
            if self.plan(sizes, roll, stages) is None:
                continue
            for axis in order:
                sizes = self._grown(sizes, axis, roll, stages)
            if sizes not in seen and (plan := self.plan(sizes, roll, stages)):
                seen.add(sizes)
                yield plan

    def _grown(self, sizes: Sizes, axis: int, roll: int | None, stages: int) -> Sizes:
        """The sizes with the largest option along an axis that fits."""
        for option in reversed(self.chains[axis]):
            grown = (*sizes[:axis], option, *sizes[axis + 1 :])
            if self.plan(grown, roll, stages) is not None:
                return grown
        return sizes

    def _climb(self, best: OuterPlan) -> OuterPlan:
        while True:
            near = [
                self.plan(sizes, best.roll, best.stages)
                for sizes in self._neighbours(best.tile)
            ]
            known = [each for each in near if each is not None]
            better = min(known, key=lambda plan: plan.rank, default=best)
            if better.rank >= best.rank:
                return best
            best = better

    def _neighbours(self, sizes: Sizes) -> Iterator[Sizes]:
        for axis, (size, chain) in enumerate(zip(sizes, self.chains, strict=True)):
            below = [each for each in chain if each < size][-2:]
            above = [each for each in chain if each > size][:1]
            for other in (*below, *above):
                yield (*sizes[:axis], other, *sizes[axis + 1 :])

    def plan(
        self, sizes: Sequence[int], roll: int | None, stages: int
    ) -> OuterPlan | None:
        """The plan with some sizes, or None where it is illegal or does not fit."""
        key = tuple(sizes), roll, stages
        if key not in self.known:
            self.known[key] = self._plan(*key)
        return self.known[key]

    def _plan(self, sizes: Sizes, roll: int | None, stages: int) -> OuterPlan | None:
        if (tiling := self._tiling(sizes, roll)) is None:
            return None
        if roll is not None and not tiling.windows:
            return None
        if stages > 1 and not tiling.loops:
            return None
        cost = self.model.cost(tiling, self.nests, stages, self.keeping)
        needed = live_bytes(cost.footprint.buffers)
        if needed > self.capacity:
            return None
        return OuterPlan(sizes, roll, stages, cost, needed)

    def _tiling(self, sizes: Sizes, roll: int | None) -> GroupTiling | None:
        rolling = None if roll is None else Rolling(roll)
        try:
            return self.members.tiling(sizes, (), self.model.rules, rolling)
        except TilingError:
            return None
