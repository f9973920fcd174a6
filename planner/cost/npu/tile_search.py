"""
Search for tile sizes, sliding axis and stages of a group at an outer NPU level, by hill
climb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import prod
from typing import Self, TypeAlias

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_tiling import GroupTiling, TilingError
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.outer_bound import OuterBound
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.outer_plan import (
    KnownFootprints,
    KnownPlans,
    OuterPlan,
    PlanKey,
    Sizes,
    is_near_optimal,
    min_cycles_from_single_tile,
)
from tlf.planner.cost.npu.tile_footprint import Footprint
from tlf.planner.cost.npu.tile_size_options import (
    halves_of_extent,
    sizes_dividing_longest,
    tile_size_options,
    tile_sizes_near_best,
)
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
    model: OuterCostModel
    capacity: int
    residency: Residency = field(default_factory=Residency)
    search_space: SearchSpace = UNRESTRICTED
    reduction_tile_sizes: Sizes = ()
    """Sizes of the reduction tiles; empty if the reduction is whole."""
    is_exhaustive: bool = False
    """True if plans are evaluated that are not better than known ones."""
    _single_plan: OuterPlan | None = None
    """Plan with a single tile, if it fits."""
    known_plans: KnownPlans = field(default_factory=dict[PlanKey, "OuterPlan | None"])
    known_tilings: Tilings = field(
        default_factory=dict[TilingKey, "GroupTiling | None"]
    )
    """Tilings of the group by key."""
    _known_footprints: KnownFootprints = field(
        default_factory=dict[PlanKey, "tuple[Footprint, int] | None"]
    )
    _known_tiled_groups: dict[TilingKey, TiledGroup | None] = field(
        default_factory=dict[TilingKey, "TiledGroup | None"]
    )
    _known_rolling_keys: dict[tuple[Sizes, Sizes, int, bool], list[TilingKey]] = field(
        default_factory=dict[tuple[Sizes, Sizes, int, bool], "list[TilingKey]"]
    )
    """Keys of analysed tilings that differ only in the values that are recomputed."""
    _known_by_residency: dict[Residency, tuple[KnownPlans, KnownFootprints]] = field(
        default_factory=dict[Residency, "tuple[KnownPlans, KnownFootprints]"]
    )

    def __post_init__(self) -> None:
        self.limit = self.capacity
        self.steps = ExecutionSteps(self.members.operations, self.nests)
        self.axes = self.search_space.restrict_tileable_axes(
            self.members.tileable_axes(self.model.rules)
        )
        self.chains = [
            halves_of_extent(extent, 1) if free else (extent,)
            for extent, free in zip(self.axes.parallel, self.axes.free, strict=True)
        ]

    def single_tile_plan(self) -> OuterPlan | None:
        """Return the plan with a single tile, or `None` if it does not fit."""
        return self.plan_for(self.axes.parallel, None, 1)

    def with_residency(self, new_residency: Residency, new_capacity: int) -> Self:
        """
        Return the search for plans that fit `new_capacity` bytes, with values resident
        in the level.
        """
        # The lower bounds are valid for any residency.
        _ = self.lower_bounds
        search = copy(self)
        search.residency, search.capacity = new_residency, new_capacity
        if new_residency.retained_results:
            search.chains = [sizes_dividing_longest(each) for each in self.chains]
        search.known_plans, search._known_footprints = (
            self._known_by_residency.setdefault(new_residency, ({}, {}))
        )
        return search

    def with_model(self, model: OuterCostModel) -> Self:
        """
        Return the search by another cost model, for a target that differs in speed or
        in inner memories; it shares the tilings and footprints.
        """
        search = copy(self)
        search.__dict__.pop("lower_bounds", None)
        search.model, search.known_plans = model, {}
        search._known_tiled_groups, search._known_rolling_keys = {}, {}
        search._known_by_residency = {
            residency: ({}, footprints)
            for residency, (_, footprints) in self._known_by_residency.items()
        }
        return search

    def find_best(self) -> OuterPlan | None:
        """Return the best plan, or `None` if not even the smallest tiles fit."""
        single = self._single_plan = self.single_tile_plan()
        if single is not None and self._is_plan_optimal(single):
            return single
        single_cost = self._single_tile_cost() if single is None else single.cost
        floor = min_cycles_from_single_tile(single_cost)
        if (
            single is not None
            and floor <= TILE_SEARCH.serial_latencies * self.model.latency
        ):
            return single
        plans = [single] if single is not None else []
        for roll in (None, *self._axes_with_overlapping_tiles()):
            for stages in self.search_space.restrict_stage_counts(
                (TILE_SEARCH.stages, 1)
            ):
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
        return best and self._increase_stages(best)

    @cached_property
    def lower_bounds(self) -> OuterBound | None:
        """
        Lower bounds over all tilings; `None` if the largest or the smallest has no
        tiling, whatever its size.
        """
        largest = self._tiled_group_for(self.axes.parallel, None)
        smallest = self._tiled_group_for(tuple(chain[0] for chain in self.chains), None)
        if largest is None or smallest is None:
            return None
        return OuterBound(largest, smallest)

    def _is_plan_optimal(self, plan: OuterPlan) -> bool:
        """
        Return `True` if no other plan can take less time, or the same time with fewer
        bytes.
        """
        if self.lower_bounds is None:
            return False
        least = self.lower_bounds.bound_with_residency(self.residency)
        cycles = (
            max(least.cycles, least.channel_cycles)
            + least.channel_cycles // TILE_SEARCH.traffic_divisor
        )
        return plan.rank[:2] <= (cycles, least.bytes)

    def streamable_load_cycles(self, values: AbstractSet[SSAValue]) -> int:
        """
        Return the channel cycles of the inputs among `values` that loops of small tiles
        load.
        """
        return (
            0
            if self.lower_bounds is None
            else self.lower_bounds.streamable_load_cycles(values)
        )

    def plan_with_prefetch(self, plan: OuterPlan) -> OuterPlan | None:
        """Return the plan with windows computed one iteration ahead, if possible."""
        if plan.sliding_axis is None or plan.has_prefetch:
            return None
        return self.plan_for(plan.tile_sizes, plan.sliding_axis, plan.stages, True)

    def min_bytes(self) -> int | None:
        """
        Return the minimum bytes required by the smallest tiles or a single tile; `None`
        if all are illegal.
        """
        sizes = tuple(chain[0] for chain in self.chains)
        rolls = (None, *self._axes_with_overlapping_tiles())
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

    def _axes_with_overlapping_tiles(self) -> Iterator[int]:
        """
        Yield the indices of free axes along which half-extent tiles overlap, if the
        search space allows sliding.
        """
        if not self.search_space.allows_sliding:
            return
        for axis, extent in enumerate(self.axes.parallel):
            if not self.axes.free[axis] or extent == 1:
                continue
            sizes = list(self.axes.parallel)
            sizes[axis] = (extent + 1) // 2
            tiled = self._tiled_group_for(tuple(sizes), axis)
            if tiled is not None and tiled.tiling.windows:
                yield axis

    def _start_plans(
        self, sliding_axis: int | None, stages: int
    ) -> Iterator[OuterPlan]:
        """
        Yield starts of the hill climb: a single tile for one stage without sliding if
        it fits, else smallest tiles grown along the axes in two orders.
        """
        if (
            stages == 1
            and sliding_axis is None
            and (whole := self.single_tile_plan()) is not None
        ):
            yield whole
            return
        axes = list(range(len(self.chains)))
        if sliding_axis is None:
            orders = [axes[::-1], axes]
        else:
            # Strips of one image in sequence, or strips of many images.
            sliding_last = _move_axis_to_end(axes[::-1], sliding_axis)
            orders = [_move_axis_to_end(sliding_last, 0), sliding_last]
        visited = set[Sizes]()
        for order in orders:
            sizes = tuple(each[0] for each in self.chains)
            if self._footprint_for(sizes, sliding_axis, stages) is None:
                continue
            for axis in order:
                sizes = self._expand_tile_along(sizes, axis, sliding_axis, stages)
            if sizes not in visited and (
                plan := self.plan_for(sizes, sliding_axis, stages)
            ):
                visited.add(sizes)
                yield plan

    def _expand_tile_along(
        self, sizes: Sizes, axis: int, sliding_axis: int | None, stages: int
    ) -> Sizes:
        """
        Return the sizes with the largest option along an axis that fits, which in most
        cases is the last one.
        """
        chain = self._all_sizes_along(axis)
        # A tile of the whole axis does not slide.
        low, high = 0, max(0, len(chain) - 1 - (axis == sliding_axis))
        middle = high
        while low < high:
            grown = (*sizes[:axis], chain[middle], *sizes[axis + 1 :])
            if self._footprint_for(grown, sliding_axis, stages) is not None:
                low = middle
            else:
                high = middle - 1
            middle = (low + high + 1) // 2
        return (*sizes[:axis], chain[low], *sizes[axis + 1 :])

    def _hill_climb(self, best: OuterPlan) -> OuterPlan:
        """Return the local optimum: no neighbour and no exchange is better."""
        while True:
            better = self._select_best_of_sizes(self._neighbour_sizes(best), best)
            if better is best:
                exchanged = self._plans_with_exchanged_sizes(best)
                better = self._select_best_plan(exchanged, best)
            if better is best:
                return best
            best = better

    def _refine_plan(self, best: OuterPlan) -> OuterPlan:
        """Return `best`, or a better plan found by hill climbing over nearby sizes."""
        if best.stages == 1:
            return best
        while (
            better := self._select_best_of_sizes(self._nearby_sizes(best), best)
        ) is not best:
            best = better
        return best

    def _increase_stages(self, plan: OuterPlan) -> OuterPlan:
        """Return the plan with the most stages that fit and make it faster."""
        if (
            plan.stages < TILE_SEARCH.stages
            or not self.search_space.restrict_stage_counts((plan.stages + 1,))
        ):
            return plan
        deeper = self.plan_for(plan.tile_sizes, plan.sliding_axis, plan.stages + 1)
        if deeper is None or deeper.cost.total_cycles > plan.cost.total_cycles:
            return plan
        if (
            plan.stages > TILE_SEARCH.stages
            and deeper.cost.total_cycles == plan.cost.total_cycles
        ):
            return plan
        return self._increase_stages(deeper)

    def _nearby_sizes(self, plan: OuterPlan) -> Iterator[Sizes]:
        """Yield the tile sizes with any size to evaluate along an axis."""
        for axis, size in enumerate(plan.tile_sizes):
            for other in self._all_sizes_along(axis, tile_sizes_near_best):
                if other != size:
                    yield _resize_tile(plan.tile_sizes, {axis: other})

    def _all_sizes_along(
        self, axis: int, sizes_of_extent: Callable[[int], Sizes] = tile_size_options
    ) -> Sizes:
        """
        Return all sizes to evaluate along an axis; `sizes_of_extent` computes them from
        an extent.
        """
        chain = self.chains[axis]
        if self.residency.retained_results or len(chain) < 2:
            return chain
        return sizes_of_extent(max(chain))

    def _neighbour_sizes(self, plan: OuterPlan) -> Iterator[Sizes]:
        """
        Yield the tile sizes with the next size up or down along an axis, and with any
        size along the sliding axis: whether strips fill the array changes from one size
        to the next.
        """
        for axis in range(len(self.chains)):
            below, above = self._adjacent_sizes(plan.tile_sizes, axis)
            if axis != plan.sliding_axis:
                below, above = below[-1:], above[:1]
            for size in (*below, *above):
                yield _resize_tile(plan.tile_sizes, {axis: size})

    def _plans_with_exchanged_sizes(
        self, plan: OuterPlan
    ) -> Iterator[OuterPlan | None]:
        """
        Yield the plans with the next size up along one axis and a smaller size along
        another.
        """
        for grown, shrunk in permutations(range(len(self.chains)), 2):
            _, above = self._adjacent_sizes(plan.tile_sizes, grown)
            below, _ = self._adjacent_sizes(plan.tile_sizes, shrunk)
            for size in above[:1]:
                smaller = (
                    self.plan_for(
                        _resize_tile(plan.tile_sizes, {grown: size, shrunk: other}),
                        *plan.plan_key[1:],
                    )
                    for other in reversed(below)
                )
                yield next((each for each in smaller if each is not None), None)

    def _adjacent_sizes(self, sizes: Sizes, axis: int) -> tuple[Sizes, Sizes]:
        """Return the smaller and the larger sizes along an axis."""
        size, chain = sizes[axis], self.chains[axis]
        below = tuple(each for each in chain if each < size)
        return below, tuple(each for each in chain if each > size)

    def _select_best_of_sizes(
        self, candidate_sizes: Iterable[Sizes], plan: OuterPlan
    ) -> OuterPlan:
        """
        Return the best of `plan` and the plans that differ from it by their tile sizes;
        on a tie, the first. Sizes are not analysed if no plan with as many tiles is
        better.
        """
        best = plan
        for sizes in candidate_sizes:
            if self._min_rank_of_sizes(sizes) <= best.rank[
                0
            ] and not self._is_too_small(sizes):
                resized = self.plan_for(sizes, *plan.plan_key[1:])
                best = self._select_best_plan((resized,), best)
        return best

    def _select_best_plan(
        self, plans: Iterable[OuterPlan | None], best: OuterPlan
    ) -> OuterPlan:
        """
        Return the plan of the lowest rank among `plans` and `best`; on a tie, `best`.
        The cost of computation is not estimated if bounds exceed the best rank.
        """
        for plan in plans:
            if plan is None or plan.min_rank_from_moves > best.rank[0]:
                continue
            if self._min_rank_of_sizes(plan.tile_sizes, plan.cost) > best.rank[0]:
                continue
            if plan.rank < best.rank:
                best = plan
        return best

    def _is_too_small(self, sizes: Sizes) -> bool:
        """
        Return `True` if no plan with as many tiles or more is better than the best one
        that fits in a single tile.
        """
        best = self._single_plan
        if self.reduction_tile_sizes or self.is_exhaustive or best is None:
            return False
        if (bounds := self.lower_bounds) is None:
            return False
        count = self._count_tiles(sizes)
        return bounds.min_rank_of_more_tiles(count, self.residency) > best.rank[0]

    def _count_tiles(self, sizes: Sizes) -> int:
        """Return the number of tiles of some sizes."""
        pairs = zip(self.axes.parallel, sizes, strict=True)
        return prod(-(-extent // size) for extent, size in pairs)

    def _min_rank_of_sizes(self, sizes: Sizes, cost: OuterCost | None = None) -> int:
        """
        Return a lower bound of the first component of the rank of plans with the given
        tile sizes, or of the plan with the given cost; 0 if there is none.
        """
        if (
            self.reduction_tile_sizes
            or self.is_exhaustive
            or (bounds := self.lower_bounds) is None
        ):
            return 0
        tile_count = self._count_tiles(sizes)
        return bounds.min_rank_of_tiles(tile_count, self.residency, cost)

    def plan_for(
        self,
        sizes: Sequence[int],
        sliding_axis: int | None,
        stages: int,
        has_prefetch: bool = False,
    ) -> OuterPlan | None:
        """
        Return the plan with the given sizes, or `None` if it is illegal or does not
        fit.
        """
        key = tuple(sizes), sliding_axis, stages, has_prefetch
        if self._footprint_for(*key) is None:
            return None
        if key not in self.known_plans:
            self.known_plans[key] = self._make_plan(*key)
        return self.known_plans[key]

    def _make_plan(
        self, sizes: Sizes, sliding_axis: int | None, stages: int, has_prefetch: bool
    ) -> OuterPlan | None:
        """
        Return the plan with its cost and required bytes; `None` if the sizes are
        illegal or do not fit.
        """
        tiled = self._tiled_group_for(sizes, sliding_axis, has_prefetch)
        memory = self._footprint_for(sizes, sliding_axis, stages, has_prefetch)
        if tiled is None or memory is None:
            return None
        footprint, required = memory
        cost = tiled.cost_of(stages, footprint, self.residency)
        return OuterPlan(
            sizes,
            sliding_axis,
            stages,
            cost,
            required,
            self.reduction_tile_sizes,
            has_prefetch,
            tiled.iteration_count,
        )

    def _footprint_for(
        self,
        sizes: Sizes,
        sliding_axis: int | None,
        stages: int,
        has_prefetch: bool = False,
    ) -> tuple[Footprint, int] | None:
        """
        Return the buffers of legal sizes and their bytes, or `None` if they do not fit.
        """
        key = sizes, sliding_axis, stages, has_prefetch
        if key not in self._known_footprints:
            self._known_footprints[key] = self._compute_footprint(*key)
        found = self._known_footprints[key]
        return None if found is None or found[1] > self.capacity else found

    def _compute_footprint(
        self, sizes: Sizes, sliding_axis: int | None, stages: int, has_prefetch: bool
    ) -> tuple[Footprint, int] | None:
        """
        Return buffers and peak bytes of some sizes; `None` if they are illegal, exceed
        `limit`, or windows, prefetch or stages have no effect.
        """
        if (tiled := self._tiled_group_for(sizes, sliding_axis, has_prefetch)) is None:
            return None
        if sliding_axis is not None and not tiled.tiling.windows:
            return None
        if has_prefetch and not tiled.tiling.prefetch_distances:
            return None
        if stages > 1 and not (tiled.tiling.loops or tiled.tiling.inner_loops):
            return None
        if not tiled.is_legal_with_residency(self.residency):
            return None
        footprint = tiled.footprint_of(stages, self.residency)
        required = footprint.peak_bytes
        return None if required > self.limit else (footprint, required)

    def _tiled_group_for(
        self, sizes: Sizes, sliding_axis: int | None, has_prefetch: bool = False
    ) -> TiledGroup | None:
        """
        Return the group with tiles of the given sizes, or `None` if these are illegal.
        """
        rolling = (
            None
            if sliding_axis is None
            else RollingPolicy(
                sliding_axis, self.residency.whole_inputs_in_level, has_prefetch
            )
        )
        key = sizes, self.reduction_tile_sizes, rolling
        if key not in self._known_tiled_groups:
            self._known_tiled_groups[key] = (
                self._make_tiled_group(key)
                if rolling is None
                else self._make_rolling_group(key, rolling)
            )
        return self._known_tiled_groups[key]

    def _make_rolling_group(
        self, key: TilingKey, policy: RollingPolicy
    ) -> TiledGroup | None:
        """
        Return the group with tiles that roll: a known one if its policy recomputes
        fewer values, and has no windows for the others, or a new one.
        """
        sizes, reduction_tile_sizes, _ = key
        about = sizes, reduction_tile_sizes, policy.axis, policy.has_prefetch
        known_keys = self._known_rolling_keys.setdefault(about, [])
        for other in known_keys:
            tiling = self.known_tilings[other]
            if tiling is not None and _has_same_windows(tiling, other[2], policy):
                self.known_tilings[key] = tiling
                return self._known_tiled_groups[other]
        known_keys.append(key)
        return self._make_tiled_group(key)

    def _make_tiled_group(self, key: TilingKey) -> TiledGroup | None:
        """
        Return the group with the tiling of `key`, which is analysed once; `None` if it
        is illegal.
        """
        if key not in self.known_tilings:
            self.known_tilings[key] = self._analyse_tiling(*key)
        tiling = self.known_tilings[key]
        if tiling is None:
            return None
        return TiledGroup(self.model, tiling, self.nests, self.steps)

    def _analyse_tiling(
        self,
        sizes: Sizes,
        reduction_tile_sizes: Sizes,
        rolling_policy: RollingPolicy | None,
    ) -> GroupTiling | None:
        """
        Return the tiling of the group's members with the given sizes; `None` if it is
        illegal.
        """
        try:
            return self.members.analyze_tiles_of_sizes(
                sizes, reduction_tile_sizes, self.model.rules, rolling_policy
            )
        except TilingError:
            return None


def _resize_tile(tile_sizes: Sizes, sizes_by_axis: Mapping[int, int]) -> Sizes:
    """Return tile sizes with other sizes along some axes."""
    return tuple(sizes_by_axis.get(axis, size) for axis, size in enumerate(tile_sizes))


def _has_same_windows(
    tiling: GroupTiling, own_policy: RollingPolicy | None, policy: RollingPolicy
) -> bool:
    """
    Return `True` if a tiling is also that of another policy: all values that it
    recomputes are recomputed by the other one, and no further one has a window.
    """
    if own_policy is None:
        return False
    own, others = own_policy.recomputed_values, policy.recomputed_values
    windowed = {value for value, _ in tiling.windows}
    return own <= others and windowed.isdisjoint(others - own)


def _move_axis_to_end(axes: Sequence[int], axis: int) -> list[int]:
    """Return the axes with `axis` moved to the end."""
    return [*(each for each in axes if each != axis), axis]
