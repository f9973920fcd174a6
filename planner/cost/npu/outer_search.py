"""
Search for the best tile plan of a group at an outer NPU level, with whole or staged
reductions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Self

from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.outer_plan import OuterPlan, Sizes
from tlf.planner.cost.npu.tile_search import TileSearch
from tlf.planner.cost.npu.tile_size_options import halves_of_extent
from tlf.planner.settings.search_budgets import TILE_SEARCH


@dataclass
class OuterSearch(TileSearch):
    """Search for the fastest plan of a group, with whole or staged reductions."""

    _searches_by_reduction_tile: dict[Sizes, OuterSearch] = field(
        default_factory=dict[Sizes, "OuterSearch"]
    )
    """Searches by reduction tile sizes."""
    _staged_by_residency: dict[Residency, dict[Sizes, OuterSearch]] = field(
        default_factory=dict[Residency, "dict[Sizes, OuterSearch]"]
    )

    def with_residency(self, new_residency: Residency, new_capacity: int) -> Self:
        """
        Return the search for other resident values and capacity; its searches by
        reduction tile are kept per residency.
        """
        search = super().with_residency(new_residency, new_capacity)
        search._searches_by_reduction_tile = self._staged_by_residency.setdefault(
            new_residency, {}
        )
        return search

    def with_model(self, model: OuterCostModel) -> Self:
        """Return the search by another cost model; see `TileSearch`."""
        search = super().with_model(model)
        search._searches_by_reduction_tile, search._staged_by_residency = {}, {}
        return search

    def find_best(self) -> OuterPlan | None:
        """
        Return the best plan; also try staged reductions, largest tiles first, if no
        whole one fits or it is far from the lower bound.
        """
        best = super().find_best()
        stage_sizes = (
            [] if self.reduction_tile_sizes else self._candidate_reduction_tiles()
        )
        if not stage_sizes or (best is not None and not self._is_far_from_bound(best)):
            return best
        worse = 0
        for reduce in stage_sizes:
            plan = self._search_with_reduction_tile(reduce).find_best()
            if plan is not None and (best is None or plan.rank < best.rank):
                best, worse = plan, 0
            elif (
                best is not None
                and (worse := worse + 1) == TILE_SEARCH.reduction_patience
            ):
                break
        return best

    def find_best_plans(self, count: int) -> list[OuterPlan]:
        """
        Return the best `count` plans of those evaluated on the way to the best one, of
        the neighbours of the best one with tiles in flight, and of those that recompute
        products.
        """
        exhaustive = self._evaluate_all_plans_of_climbs()
        in_flight = (
            plan
            for plan in self._evaluated_plans_that_fit()
            if plan.stages >= TILE_SEARCH.stages
        )
        if (best := min(in_flight, key=_rank_of, default=None)) is not None:
            exhaustive._refine_plan(best)
        if not self.reduction_tile_sizes:
            self._evaluate_recomputing_plans()
        plans = [*self._evaluated_plans_that_fit()]
        for search in self._searches_by_reduction_tile.values():
            plans += search.find_best_plans(count)
        return sorted(plans, key=_rank_of)[:count]

    def _evaluate_all_plans_of_climbs(self) -> Self:
        """
        Evaluate the plans of all hill climbs, also those that are not better; return
        the search that evaluates such plans.
        """
        search = copy(self)
        search.is_exhaustive = True
        TileSearch.find_best(search)
        for roll in (None, *search._axes_with_overlapping_tiles()):
            for stages in search.search_space.restrict_stage_counts(
                (TILE_SEARCH.stages, 1)
            ):
                for start in search._start_plans(roll, stages):
                    search._hill_climb(start)
        search.single_tile_plan()
        return search

    def _evaluated_plans_that_fit(self) -> Iterator[OuterPlan]:
        """Yield the evaluated plans that fit, except those with prefetch."""
        for plan in self.known_plans.values():
            if (
                plan is not None
                and not plan.has_prefetch
                and plan.required_bytes <= self.capacity
            ):
                yield plan

    def _evaluate_recomputing_plans(self) -> None:
        """Evaluate two tiles in flight along axes that recompute products per tile."""
        whole = self.axes.parallel
        for axis, size in enumerate(whole):
            if (
                size % 2
                or self.axes.free[axis]
                or not self.search_space.can_tile_axis(axis)
            ):
                continue
            sizes = (*whole[:axis], size // 2, *whole[axis + 1 :])
            for stages in self.search_space.restrict_stage_counts(
                (TILE_SEARCH.stages,)
            ):
                self.plan_for(sizes, None, stages)

    def min_bytes(self) -> int | None:
        """
        Return the minimum bytes of a plan, with the smallest reduction tile if whole
        reductions do not fit; `None` if all are illegal.
        """
        least = super().min_bytes()
        if self.reduction_tile_sizes or (least is not None and least <= self.capacity):
            return least
        *_, smallest = self._candidate_reduction_tiles() or [None]
        staged = (
            None
            if smallest is None
            else self._search_with_reduction_tile(smallest).min_bytes()
        )
        return min((each for each in (least, staged) if each is not None), default=None)

    def plan_for(
        self,
        sizes: Sequence[int],
        sliding_axis: int | None,
        stages: int,
        has_prefetch: bool = False,
    ) -> OuterPlan | None:
        """
        Return the plan with the given tile sizes, followed by reduction tile sizes, or
        `None` if it is illegal or does not fit.
        """
        count = len(self.axes.parallel)
        if len(sizes) == count:
            return super().plan_for(sizes, sliding_axis, stages, has_prefetch)
        reduce = tuple(sizes[count:])
        return self._search_with_reduction_tile(reduce).plan_for(
            sizes[:count], sliding_axis, stages, has_prefetch
        )

    def _is_far_from_bound(self, plan: OuterPlan) -> bool:
        """Return `True` if the time of a plan is far from the lower bound."""
        if self.lower_bounds is None:
            return True
        return (
            plan.cost.total_cycles
            > TILE_SEARCH.staged_reduction_ratio
            * self.lower_bounds.bound_with_residency(self.residency).cycles
        )

    def _candidate_reduction_tiles(self) -> list[Sizes]:
        """
        Return reduction tiles along the longest free axis of the reduction, largest
        first.
        """
        axes = self.axes
        free = [axis for axis, is_free in enumerate(axes.reduction_free) if is_free]
        if not free:
            return []
        longest = max(free, key=axes.reduction.__getitem__)
        return [
            (*axes.reduction[:longest], size, *axes.reduction[longest + 1 :])
            for size in reversed(halves_of_extent(axes.reduction[longest], 1)[:-1])
        ]

    def _search_with_reduction_tile(self, reduction_tile: Sizes) -> OuterSearch:
        """Return the search for plans with the given reduction tile sizes."""
        if reduction_tile not in self._searches_by_reduction_tile:
            created = self._searches_by_reduction_tile[reduction_tile] = copy(self)
            (
                created.reduction_tile_sizes,
                created.known_plans,
                created._known_footprints,
                created._searches_by_reduction_tile,
            ) = (
                reduction_tile,
                {},
                {},
                {},
            )
        search = self._searches_by_reduction_tile[reduction_tile]
        search.capacity = self.capacity
        return search


def _rank_of(plan: OuterPlan) -> tuple[int, int, int]:
    return plan.rank
