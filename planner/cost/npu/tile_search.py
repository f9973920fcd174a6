"""Tiles, halo policy and iterations in flight for a group at an outer level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Self, TypeAlias

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group import Members
from tlf.analysis.tiling.model import GroupTiling, TilingError
from tlf.analysis.tiling.rolling import Rolling
from tlf.planner.cost.npu.footprint import Footprint
from tlf.planner.cost.npu.keeping import Keeping
from tlf.planner.cost.npu.nests import Nests
from tlf.planner.cost.npu.outer import OuterModel
from tlf.planner.cost.npu.outer_bound import OuterBound
from tlf.planner.cost.npu.outer_plan import (
    TRAFFIC,
    Known,
    OuterPlan,
    PlanKey,
    Rooms,
    Sizes,
    floor_of,
    is_enough,
)
from tlf.planner.cost.npu.sizes import divisors, halves, nearby, options
from tlf.planner.cost.npu.steps import Steps
from tlf.planner.cost.npu.tiled_group import OuterCost, TiledGroup
from tlf.planner.freedom import ANYTHING, Freedom

TilingKey: TypeAlias = "tuple[Sizes, Sizes, Rolling | None]"
"""Sizes, those of pieces of a reduction, and how tiles roll, if they do."""

Tilings: TypeAlias = "dict[TilingKey, GroupTiling | None]"

LITTLE = 1
"""Work of so many latencies of the farther memory leaves nothing to hide."""

CLOSE = 1.1
"""Plans that are so near to the best are looked at more closely."""

STAGES = 2
"""Iterations in flight, where they overlap: one is moved while another is computed."""


@dataclass
class TileSearch:
    """
    Looks for the fastest plan of a group whose reductions run whole, or in given
    pieces: from the largest tiles that fit, grown in a few orders of axes, to better
    neighbours.
    """

    members: Members
    nests: Nests
    model: OuterModel
    capacity: int
    keeping: Keeping = field(default_factory=Keeping)
    freedom: Freedom = ANYTHING
    reduce: Sizes = ()
    """The sizes of the pieces of a reduction, if it does not run whole."""
    known: Known = field(default_factory=dict[PlanKey, "OuterPlan | None"])
    tilings: Tilings = field(default_factory=dict[TilingKey, "GroupTiling | None"])
    """The tiles of the group, by their sizes and what rolls."""
    _rooms: Rooms = field(default_factory=dict[PlanKey, "tuple[Footprint, int] | None"])
    _tiled: dict[TilingKey, TiledGroup | None] = field(
        default_factory=dict[TilingKey, "TiledGroup | None"]
    )
    _by_keeping: dict[Keeping, tuple[Known, Rooms]] = field(
        default_factory=dict[Keeping, "tuple[Known, Rooms]"]
    )

    def __post_init__(self) -> None:
        self.limit = self.capacity
        self.steps = Steps(self.members.operations, self.nests)
        self.axes = self.freedom.cut(self.members.axes(self.model.rules))
        self.chains = [
            halves(extent, 1) if free else (extent,)
            for extent, free in zip(self.axes.parallel, self.axes.free, strict=True)
        ]

    def whole(self) -> OuterPlan | None:
        """The plan with one tile, or None where it does not fit."""
        return self.plan(self.axes.parallel, None, 1)

    def around(self, keeping: Keeping, room: int) -> Self:
        """The search for a plan that fits so much room, with values in the level."""
        # What bounds the group holds for any values that are in the level.
        _ = self.bound
        made = copy(self)
        made.keeping, made.capacity = keeping, room
        if keeping.kept:
            made.chains = [divisors(each) for each in self.chains]
        made.known, made._rooms = self._by_keeping.setdefault(keeping, ({}, {}))
        return made

    def best(self) -> OuterPlan | None:
        """The best plan, or None where not even the smallest tiles fit."""
        whole = self.whole()
        if whole is not None and self._is_unbeaten(whole):
            return whole
        only = self._only_tile() if whole is None else whole.cost
        floor = floor_of(only)
        if whole is not None and floor <= LITTLE * self.model.latency:
            return whole
        found = [whole] if whole is not None else []
        for roll in (None, *self._rolled_axes()):
            for stages in self.freedom.counts((STAGES, 1)):
                for start in self._starts(roll, stages):
                    found.append(self._climb(start))
                    if only is not None and is_enough(found[-1], only):
                        return found[-1]
                if found and found[-1].stages == STAGES:
                    break
        least = min((plan.cost.cycles for plan in found), default=0)
        near = (plan for plan in found if plan.cost.cycles <= least * CLOSE)
        best = min(map(self._refined, near), key=lambda plan: plan.rank, default=None)
        return best and self._deepened(best)

    @cached_property
    def bound(self) -> OuterBound | None:
        """
        Lower bounds over all tiles; `None` where the largest or the smallest are
        illegal.
        """
        largest = self._tiling(self.axes.parallel, None)
        smallest = self._tiling(tuple(chain[0] for chain in self.chains), None)
        if largest is None or smallest is None:
            return None
        return OuterBound(largest, smallest)

    def _is_unbeaten(self, plan: OuterPlan) -> bool:
        """
        Return `True` if no other plan can take less time, or move fewer bytes as fast.
        """
        if self.bound is None:
            return False
        least = self.bound.of(self.keeping)
        cycles = max(least.cycles, least.channel) + least.channel // TRAFFIC
        return plan.rank[:2] <= (cycles, least.bytes)

    def streamable(self, values: AbstractSet[SSAValue]) -> int:
        """The cycles in which loops of small tiles could load some of the inputs."""
        return 0 if self.bound is None else self.bound.streamable(values)

    def led(self, plan: OuterPlan) -> OuterPlan | None:
        """The plan with windows computed an iteration ahead, if they can be."""
        if plan.roll is None or plan.leads:
            return None
        return self.plan(plan.tile, plan.roll, plan.stages, True)

    def least(self) -> int | None:
        """
        The bytes that the smallest tiles take, or the only one where smaller ones are
        illegal; None where there are none.
        """
        sizes = tuple(chain[0] for chain in self.chains)
        rolls = (None, *self._rolled_axes())
        plans = [self.whole(), *(self.plan(sizes, roll, 1) for roll in rolls)]
        return min((plan.needed for plan in plans if plan is not None), default=None)

    def _only_tile(self) -> OuterCost | None:
        """
        Return the cost with one tile, whether or not it fits; `None` where it is
        illegal.
        """
        if (only := self._tiling(self.axes.parallel, None)) is None:
            return None
        return only.cost(1, only.footprint(1, self.keeping), self.keeping)

    def _rolled_axes(self) -> Iterator[int]:
        """The axes along which tiles overlap."""
        if not self.freedom.roll:
            return
        for axis, extent in enumerate(self.axes.parallel):
            if not self.axes.free[axis] or extent == 1:
                continue
            sizes = list(self.axes.parallel)
            sizes[axis] = (extent + 1) // 2
            tiled = self._tiling(tuple(sizes), axis)
            if tiled is not None and tiled.tiling.windows:
                yield axis

    def _starts(self, roll: int | None, stages: int) -> Iterator[OuterPlan]:
        if stages == 1 and roll is None and (whole := self.whole()) is not None:
            yield whole
            return
        axes = list(range(len(self.chains)))
        if roll is None:
            orders = [axes[::-1], axes]
        else:
            # Many strips of one image after the other, or strips of many images.
            rolled = _last(axes[::-1], roll)
            orders = [_last(rolled, 0), rolled]
        seen = set[Sizes]()
        for order in orders:
            sizes = tuple(each[0] for each in self.chains)
            if self._room(sizes, roll, stages) is None:
                continue
            for axis in order:
                sizes = self._grown(sizes, axis, roll, stages)
            if sizes not in seen and (plan := self.plan(sizes, roll, stages)):
                seen.add(sizes)
                yield plan

    def _grown(self, sizes: Sizes, axis: int, roll: int | None, stages: int) -> Sizes:
        """The sizes with the largest option along an axis that fits."""
        chain = self._fine(axis)
        # A tile of the whole axis does not roll.
        low, high = 0, max(0, len(chain) - 1 - (axis == roll))
        while low < high:
            middle = (low + high + 1) // 2
            grown = (*sizes[:axis], chain[middle], *sizes[axis + 1 :])
            if self._room(grown, roll, stages) is not None:
                low = middle
            else:
                high = middle - 1
        return (*sizes[:axis], chain[low], *sizes[axis + 1 :])

    def _climb(self, best: OuterPlan) -> OuterPlan:
        """The plan that no neighbour is better than, nor an exchange, on the way up."""
        while True:
            better = _best(self._neighbours(best), best)
            if better is best:
                better = _best(self._exchanges(best), best)
            if better is best:
                return best
            best = better

    def _refined(self, best: OuterPlan) -> OuterPlan:
        """The plan, or a better one with tiles of about its sizes."""
        if best.stages == 1:
            return best
        while (better := _best(self._nearby(best), best)) is not best:
            best = better
        return best

    def _deepened(self, plan: OuterPlan) -> OuterPlan:
        """
        The plan with more iterations in flight, as many as there is room for and make
        it faster; with one more if it is as fast: by the formula, which does not tell
        that moves of neighbours collide.
        """
        if plan.stages < STAGES or not self.freedom.counts((plan.stages + 1,)):
            return plan
        deeper = self.plan(plan.tile, plan.roll, plan.stages + 1)
        if deeper is None or deeper.cost.cycles > plan.cost.cycles:
            return plan
        if plan.stages > STAGES and deeper.cost.cycles == plan.cost.cycles:
            return plan
        return self._deepened(deeper)

    def _nearby(self, plan: OuterPlan) -> Iterator[OuterPlan | None]:
        """The plans with any size worth a try along an axis."""
        for axis, size in enumerate(plan.tile):
            for other in self._fine(axis, nearby):
                if other != size:
                    yield self._resized(plan, {axis: other})

    def _fine(self, axis: int, sizes: Callable[[int], Sizes] = options) -> Sizes:
        """All sizes worth a try along an axis, of those of an extent."""
        chain = self.chains[axis]
        if self.keeping.kept or len(chain) < 2:
            return chain
        return sizes(max(chain))

    def _neighbours(self, plan: OuterPlan) -> Iterator[OuterPlan | None]:
        """
        The plans with the next size up or down along an axis, and any along that where
        tiles roll: whether strips fill the array changes from one size to the next.
        """
        for axis in range(len(self.chains)):
            below, above = self._options(plan.tile, axis)
            if axis != plan.roll:
                below, above = below[-1:], above[:1]
            for size in (*below, *above):
                yield self._resized(plan, {axis: size})

    def _exchanges(self, plan: OuterPlan) -> Iterator[OuterPlan | None]:
        """The plans with the next size up along one axis, room made along another."""
        for grown, cut in permutations(range(len(self.chains)), 2):
            _, above = self._options(plan.tile, grown)
            below, _ = self._options(plan.tile, cut)
            for size in above[:1]:
                smaller = (
                    self._resized(plan, {grown: size, cut: other})
                    for other in reversed(below)
                )
                yield next((each for each in smaller if each is not None), None)

    def _options(self, sizes: Sizes, axis: int) -> tuple[Sizes, Sizes]:
        """The smaller and the larger sizes along an axis."""
        size, chain = sizes[axis], self.chains[axis]
        below = tuple(each for each in chain if each < size)
        return below, tuple(each for each in chain if each > size)

    def _resized(self, plan: OuterPlan, sizes: Mapping[int, int]) -> OuterPlan | None:
        tile = (sizes.get(axis, size) for axis, size in enumerate(plan.tile))
        return self.plan(tuple(tile), *plan.key[1:])

    def plan(
        self,
        sizes: Sequence[int],
        roll: int | None,
        stages: int,
        leads: bool = False,
    ) -> OuterPlan | None:
        """The plan with some sizes, or None where it is illegal or does not fit."""
        key = tuple(sizes), roll, stages, leads
        if self._room(*key) is None:
            return None
        if key not in self.known:
            self.known[key] = self._plan(*key)
        return self.known[key]

    def _plan(
        self, sizes: Sizes, roll: int | None, stages: int, leads: bool
    ) -> OuterPlan | None:
        tiled = self._tiling(sizes, roll, leads)
        room = self._room(sizes, roll, stages, leads)
        if tiled is None or room is None:
            return None
        footprint, needed = room
        cost = tiled.cost(stages, footprint, self.keeping)
        return OuterPlan(sizes, roll, stages, cost, needed, self.reduce, leads)

    def _room(
        self, sizes: Sizes, roll: int | None, stages: int, leads: bool = False
    ) -> tuple[Footprint, int] | None:
        """The buffers of legal sizes and their bytes, or None where they do not fit."""
        key = sizes, roll, stages, leads
        if key not in self._rooms:
            self._rooms[key] = self._new_room(*key)
        found = self._rooms[key]
        return None if found is None or found[1] > self.capacity else found

    def _new_room(
        self, sizes: Sizes, roll: int | None, stages: int, leads: bool
    ) -> tuple[Footprint, int] | None:
        if (tiled := self._tiling(sizes, roll, leads)) is None:
            return None
        if roll is not None and not tiled.tiling.windows:
            return None
        if leads and not tiled.tiling.ahead:
            return None
        if stages > 1 and not (tiled.tiling.loops or tiled.tiling.inner_loops):
            return None
        if not tiled.is_legal(self.keeping):
            return None
        footprint = tiled.footprint(stages, self.keeping)
        needed = footprint.needed
        return None if needed > self.limit else (footprint, needed)

    def _tiling(
        self, sizes: Sizes, roll: int | None, leads: bool = False
    ) -> TiledGroup | None:
        """The group with tiles of some sizes, or None where these are illegal."""
        rolling = None if roll is None else Rolling(roll, self.keeping.near, leads)
        key = sizes, self.reduce, rolling
        if key not in self._tiled:
            self._tiled[key] = self._new_tiling(key)
        return self._tiled[key]

    def _new_tiling(self, key: TilingKey) -> TiledGroup | None:
        if key not in self.tilings:
            self.tilings[key] = self._analysed(*key)
        tiling = self.tilings[key]
        if tiling is None:
            return None
        return TiledGroup(self.model, tiling, self.nests, self.steps)

    def _analysed(
        self, sizes: Sizes, reduce: Sizes, rolling: Rolling | None
    ) -> GroupTiling | None:
        try:
            return self.members.tiling(sizes, reduce, self.model.rules, rolling)
        except TilingError:
            return None


def _best(plans: Iterable[OuterPlan | None], best: OuterPlan) -> OuterPlan:
    """The best of some plans, the given one where none is better."""
    for plan in plans:
        # What is computed in tiles is priced only where moves leave a chance.
        if plan is None or plan.floor > best.rank[0]:
            continue
        if plan.rank < best.rank:
            best = plan
    return best


def _last(axes: Sequence[int], axis: int) -> list[int]:
    """Axes with one of them at the end."""
    return [*(each for each in axes if each != axis), axis]
