"""Search for tile sizes, sliding axis and stages of a group at an outer level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Self, TypeAlias

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_tiling import GroupTiling, TilingError
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.outer_bound import OuterBound
from tlf.planner.cost.npu.outer_model import OuterModel
from tlf.planner.cost.npu.outer_plan import (
    KnownFootprints,
    KnownPlans,
    OuterPlan,
    PlanKey,
    Sizes,
    is_near_optimal,
    min_cycles_of,
)
from tlf.planner.cost.npu.size_options import (
    divisor_sizes,
    halving_sizes,
    nearby_sizes,
    size_options,
)
from tlf.planner.cost.npu.tile_footprint import Footprint
from tlf.planner.cost.npu.tiled_group import OuterCost, TiledGroup
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.planner.settings.search_budgets import TILE_SEARCH

TilingKey: TypeAlias = "tuple[Sizes, Sizes, RollingPolicy | None]"
"""Tile sizes, reduction tile sizes, and the rolling policy, if tiles slide."""

Tilings: TypeAlias = "dict[TilingKey, GroupTiling | None]"


@dataclass
class TileSearch:
    """
    Hill climb for the fastest plan whose reductions are whole or have the given stages.
    """

    members: GroupMembers
    nests: Nests
    model: OuterModel
    capacity: int
    residency: Residency = field(default_factory=Residency)
    search_space: SearchSpace = UNRESTRICTED
    reduce: Sizes = ()
    """Sizes of the reduction tiles; empty if the reduction is whole."""
    known: KnownPlans = field(default_factory=dict[PlanKey, "OuterPlan | None"])
    tilings: Tilings = field(default_factory=dict[TilingKey, "GroupTiling | None"])
    """Tilings of the group by key."""
    _footprints: KnownFootprints = field(
        default_factory=dict[PlanKey, "tuple[Footprint, int] | None"]
    )
    _tiled: dict[TilingKey, TiledGroup | None] = field(
        default_factory=dict[TilingKey, "TiledGroup | None"]
    )
    _by_residency: dict[Residency, tuple[KnownPlans, KnownFootprints]] = field(
        default_factory=dict[Residency, "tuple[KnownPlans, KnownFootprints]"]
    )

    def __post_init__(self) -> None:
        self.limit = self.capacity
        self.steps = ExecutionSteps(self.members.operations, self.nests)
        self.axes = self.search_space.restrict_axes(
            self.members.tileable_axes(self.model.rules)
        )
        self.chains = [
            halving_sizes(extent, 1) if free else (extent,)
            for extent, free in zip(self.axes.parallel, self.axes.free, strict=True)
        ]

    def single_tile_plan(self) -> OuterPlan | None:
        """Return the plan with a single tile, or `None` if it does not fit."""
        return self.plan_for(self.axes.parallel, None, 1)

    def with_residency(self, keeping: Residency, room: int) -> Self:
        """
        Return the search for plans that fit `room` bytes, with values resident in the
        level.
        """
        # The lower bounds are valid for any residency.
        _ = self.lower_bounds
        search = copy(self)
        search.residency, search.capacity = keeping, room
        if keeping.retained:
            search.chains = [divisor_sizes(each) for each in self.chains]
        search.known, search._footprints = self._by_residency.setdefault(
            keeping, ({}, {})
        )
        return search

    def find_best(self) -> OuterPlan | None:
        """Return the best plan, or `None` if not even the smallest tiles fit."""
        single = self.single_tile_plan()
        if single is not None and self._is_optimal(single):
            return single
        single_cost = self._single_tile_cost() if single is None else single.cost
        floor = min_cycles_of(single_cost)
        if (
            single is not None
            and floor <= TILE_SEARCH.serial_latencies * self.model.latency
        ):
            return single
        plans = [single] if single is not None else []
        for roll in (None, *self._sliding_axes()):
            for stages in self.search_space.restrict_stages((TILE_SEARCH.stages, 1)):
                for start in self._start_plans(roll, stages):
                    plans.append(self._hill_climb(start))
                    if single_cost is not None and is_near_optimal(
                        plans[-1], single_cost
                    ):
                        return plans[-1]
                if plans and plans[-1].stages == TILE_SEARCH.stages:
                    break
        least = min((plan.cost.total_cycles for plan in plans), default=0)
        close = (
            plan
            for plan in plans
            if plan.cost.total_cycles <= least * TILE_SEARCH.refined_ratio
        )
        best = min(
            map(self._refine_plan, close), key=lambda plan: plan.rank, default=None
        )
        return best and self._deepen_pipeline(best)

    @cached_property
    def lower_bounds(self) -> OuterBound | None:
        """
        Lower bounds over all tilings; `None` if the largest or the smallest is illegal.
        """
        largest = self._tiled_group_for(self.axes.parallel, None)
        smallest = self._tiled_group_for(tuple(chain[0] for chain in self.chains), None)
        if largest is None or smallest is None:
            return None
        return OuterBound(largest, smallest)

    def _is_optimal(self, plan: OuterPlan) -> bool:
        """
        Return `True` if no other plan can take less time, or the same time with fewer
        bytes.
        """
        if self.lower_bounds is None:
            return False
        least = self.lower_bounds.bound_with(self.residency)
        cycles = (
            max(least.cycles, least.channel_cycles)
            + least.channel_cycles // TILE_SEARCH.traffic_divisor
        )
        return plan.rank[:2] <= (cycles, least.bytes)

    def streamable_cycles(self, values: AbstractSet[SSAValue]) -> int:
        """
        Return the channel cycles of the inputs among `values` that loops of small tiles
        load.
        """
        return (
            0
            if self.lower_bounds is None
            else self.lower_bounds.streamable_cycles(values)
        )

    def with_prefetch(self, plan: OuterPlan) -> OuterPlan | None:
        """Return the plan with windows computed one iteration ahead, if possible."""
        if plan.sliding is None or plan.has_prefetch:
            return None
        return self.plan_for(plan.tile, plan.sliding, plan.stages, True)

    def min_bytes(self) -> int | None:
        """
        Return the minimum bytes required by the smallest tiles or a single tile; `None`
        if all are illegal.
        """
        sizes = tuple(chain[0] for chain in self.chains)
        rolls = (None, *self._sliding_axes())
        plans = [
            self.single_tile_plan(),
            *(self.plan_for(sizes, roll, 1) for roll in rolls),
        ]
        return min(
            (plan.required_bytes for plan in plans if plan is not None), default=None
        )

    def _single_tile_cost(self) -> OuterCost | None:
        """
        Return the cost of a single tile, even if it does not fit; `None` if it is
        illegal.
        """
        if (single := self._tiled_group_for(self.axes.parallel, None)) is None:
            return None
        return single.cost_of(1, single.footprint_of(1, self.residency), self.residency)

    def _sliding_axes(self) -> Iterator[int]:
        """Yield the axes along which tiles overlap."""
        if not self.search_space.sliding:
            return
        for axis, extent in enumerate(self.axes.parallel):
            if not self.axes.free[axis] or extent == 1:
                continue
            sizes = list(self.axes.parallel)
            sizes[axis] = (extent + 1) // 2
            tiled = self._tiled_group_for(tuple(sizes), axis)
            if tiled is not None and tiled.tiling.windows:
                yield axis

    def _start_plans(self, roll: int | None, stages: int) -> Iterator[OuterPlan]:
        if (
            stages == 1
            and roll is None
            and (whole := self.single_tile_plan()) is not None
        ):
            yield whole
            return
        axes = list(range(len(self.chains)))
        if roll is None:
            orders = [axes[::-1], axes]
        else:
            # Strips of one image in sequence, or strips of many images.
            sliding_last = _move_to_end(axes[::-1], roll)
            orders = [_move_to_end(sliding_last, 0), sliding_last]
        visited = set[Sizes]()
        for order in orders:
            sizes = tuple(each[0] for each in self.chains)
            if self._footprint_for(sizes, roll, stages) is None:
                continue
            for axis in order:
                sizes = self._expand_axis(sizes, axis, roll, stages)
            if sizes not in visited and (plan := self.plan_for(sizes, roll, stages)):
                visited.add(sizes)
                yield plan

    def _expand_axis(
        self, sizes: Sizes, axis: int, roll: int | None, stages: int
    ) -> Sizes:
        """Return the sizes with the largest option along an axis that fits."""
        chain = self._fine_sizes(axis)
        # A tile of the whole axis does not slide.
        low, high = 0, max(0, len(chain) - 1 - (axis == roll))
        while low < high:
            middle = (low + high + 1) // 2
            grown = (*sizes[:axis], chain[middle], *sizes[axis + 1 :])
            if self._footprint_for(grown, roll, stages) is not None:
                low = middle
            else:
                high = middle - 1
        return (*sizes[:axis], chain[low], *sizes[axis + 1 :])

    def _hill_climb(self, best: OuterPlan) -> OuterPlan:
        """Return the local optimum: no neighbour and no exchange is better."""
        while True:
            better = _select_best(self._neighbour_plans(best), best)
            if better is best:
                better = _select_best(self._traded_plans(best), best)
            if better is best:
                return best
            best = better

    def _refine_plan(self, best: OuterPlan) -> OuterPlan:
        """Return the plan, or a better one with similar tile sizes."""
        if best.stages == 1:
            return best
        while (better := _select_best(self._nearby_plans(best), best)) is not best:
            best = better
        return best

    def _deepen_pipeline(self, plan: OuterPlan) -> OuterPlan:
        """Return the plan with the most stages that fit and make it faster."""
        if plan.stages < TILE_SEARCH.stages or not self.search_space.restrict_stages(
            (plan.stages + 1,)
        ):
            return plan
        deeper = self.plan_for(plan.tile, plan.sliding, plan.stages + 1)
        if deeper is None or deeper.cost.total_cycles > plan.cost.total_cycles:
            return plan
        if (
            plan.stages > TILE_SEARCH.stages
            and deeper.cost.total_cycles == plan.cost.total_cycles
        ):
            return plan
        return self._deepen_pipeline(deeper)

    def _nearby_plans(self, plan: OuterPlan) -> Iterator[OuterPlan | None]:
        """Yield the plans with any size to evaluate along an axis."""
        for axis, size in enumerate(plan.tile):
            for other in self._fine_sizes(axis, nearby_sizes):
                if other != size:
                    yield self._resize_plan(plan, {axis: other})

    def _fine_sizes(
        self, axis: int, sizes: Callable[[int], Sizes] = size_options
    ) -> Sizes:
        """
        Return all sizes to evaluate along an axis; `sizes` computes them from an
        extent.
        """
        chain = self.chains[axis]
        if self.residency.retained or len(chain) < 2:
            return chain
        return sizes(max(chain))

    def _neighbour_plans(self, plan: OuterPlan) -> Iterator[OuterPlan | None]:
        """
        Yield the plans with the next size up or down along an axis, and with any size
        along the sliding axis: whether strips fill the array changes from one size to
        the next.
        """
        for axis in range(len(self.chains)):
            below, above = self._adjacent_sizes(plan.tile, axis)
            if axis != plan.sliding:
                below, above = below[-1:], above[:1]
            for size in (*below, *above):
                yield self._resize_plan(plan, {axis: size})

    def _traded_plans(self, plan: OuterPlan) -> Iterator[OuterPlan | None]:
        """
        Yield the plans with the next size up along one axis and a smaller size along
        another.
        """
        for grown, shrunk in permutations(range(len(self.chains)), 2):
            _, above = self._adjacent_sizes(plan.tile, grown)
            below, _ = self._adjacent_sizes(plan.tile, shrunk)
            for size in above[:1]:
                smaller = (
                    self._resize_plan(plan, {grown: size, shrunk: other})
                    for other in reversed(below)
                )
                yield next((each for each in smaller if each is not None), None)

    def _adjacent_sizes(self, sizes: Sizes, axis: int) -> tuple[Sizes, Sizes]:
        """Return the smaller and the larger sizes along an axis."""
        size, chain = sizes[axis], self.chains[axis]
        below = tuple(each for each in chain if each < size)
        return below, tuple(each for each in chain if each > size)

    def _resize_plan(
        self, plan: OuterPlan, sizes: Mapping[int, int]
    ) -> OuterPlan | None:
        tile = (sizes.get(axis, size) for axis, size in enumerate(plan.tile))
        return self.plan_for(tuple(tile), *plan.key[1:])

    def plan_for(
        self,
        sizes: Sequence[int],
        roll: int | None,
        stages: int,
        leads: bool = False,
    ) -> OuterPlan | None:
        """
        Return the plan with the given sizes, or `None` if it is illegal or does not
        fit.
        """
        key = tuple(sizes), roll, stages, leads
        if self._footprint_for(*key) is None:
            return None
        if key not in self.known:
            self.known[key] = self._make_plan(*key)
        return self.known[key]

    def _make_plan(
        self, sizes: Sizes, roll: int | None, stages: int, leads: bool
    ) -> OuterPlan | None:
        tiled = self._tiled_group_for(sizes, roll, leads)
        memory = self._footprint_for(sizes, roll, stages, leads)
        if tiled is None or memory is None:
            return None
        footprint, required = memory
        cost = tiled.cost_of(stages, footprint, self.residency)
        return OuterPlan(sizes, roll, stages, cost, required, self.reduce, leads)

    def _footprint_for(
        self, sizes: Sizes, roll: int | None, stages: int, leads: bool = False
    ) -> tuple[Footprint, int] | None:
        """
        Return the buffers of legal sizes and their bytes, or `None` if they do not fit.
        """
        key = sizes, roll, stages, leads
        if key not in self._footprints:
            self._footprints[key] = self._compute_footprint(*key)
        found = self._footprints[key]
        return None if found is None or found[1] > self.capacity else found

    def _compute_footprint(
        self, sizes: Sizes, roll: int | None, stages: int, leads: bool
    ) -> tuple[Footprint, int] | None:
        if (tiled := self._tiled_group_for(sizes, roll, leads)) is None:
            return None
        if roll is not None and not tiled.tiling.windows:
            return None
        if leads and not tiled.tiling.prefetch_distances:
            return None
        if stages > 1 and not (tiled.tiling.loops or tiled.tiling.inner_loops):
            return None
        if not tiled.is_legal(self.residency):
            return None
        footprint = tiled.footprint_of(stages, self.residency)
        required = footprint.peak_bytes
        return None if required > self.limit else (footprint, required)

    def _tiled_group_for(
        self, sizes: Sizes, roll: int | None, leads: bool = False
    ) -> TiledGroup | None:
        """
        Return the group with tiles of the given sizes, or `None` if these are illegal.
        """
        rolling = (
            None
            if roll is None
            else RollingPolicy(roll, self.residency.inner_inputs, leads)
        )
        key = sizes, self.reduce, rolling
        if key not in self._tiled:
            self._tiled[key] = self._make_tiled_group(key)
        return self._tiled[key]

    def _make_tiled_group(self, key: TilingKey) -> TiledGroup | None:
        if key not in self.tilings:
            self.tilings[key] = self._analyse_tiling(*key)
        tiling = self.tilings[key]
        if tiling is None:
            return None
        return TiledGroup(self.model, tiling, self.nests, self.steps)

    def _analyse_tiling(
        self, sizes: Sizes, reduce: Sizes, rolling: RollingPolicy | None
    ) -> GroupTiling | None:
        try:
            return self.members.tiling_with(sizes, reduce, self.model.rules, rolling)
        except TilingError:
            return None


def _select_best(plans: Iterable[OuterPlan | None], best: OuterPlan) -> OuterPlan:
    """Return the best of some plans, or `best` if none is better."""
    for plan in plans:
        # Skip the cost of computation if the moves alone exceed the best rank.
        if plan is None or plan.min_rank > best.rank[0]:
            continue
        if plan.rank < best.rank:
            best = plan
    return best


def _move_to_end(axes: Sequence[int], axis: int) -> list[int]:
    """Return the axes with `axis` moved to the end."""
    return [*(each for each in axes if each != axis), axis]
