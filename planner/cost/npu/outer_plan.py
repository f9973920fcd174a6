"""
Cost model result: planned tiles of a group at an outer NPU level, with their estimated
cost and rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tlf.dialects import graph
from tlf.planner.cost.npu.tile_footprint import Footprint
from tlf.planner.cost.npu.tiled_group import OuterCost
from tlf.planner.settings.search_budgets import TILE_SEARCH

Sizes: TypeAlias = tuple[int, ...]

PlanKey: TypeAlias = "tuple[Sizes, int | None, int, bool]"
"""
Tile sizes, the sliding axis, iterations in flight, and whether values read by windows
are computed an iteration early.
"""


@dataclass(frozen=True)
class OuterPlan:
    """Tile sizes, sliding axis and stages of a group in an outer level; their cost."""

    tile_sizes: Sizes
    sliding_axis: int | None
    stages: int
    """Iterations in flight: of reduction tiles, or of tiles."""
    cost: OuterCost
    required_bytes: int
    """Bytes required in the level."""
    reduction_tile_sizes: Sizes = ()
    """Sizes of the reduction tiles; empty if the reduction is whole."""
    has_prefetch: bool = False
    """True if the values that windows read are computed an iteration early."""
    iteration_count: int | None = None
    """Number of reduction tiles of a tile, or of tiles, if known."""

    @property
    def program_key(self) -> PlanKey:
        """
        Key of the program: plans with more iterations in flight than there are make the
        same one.
        """
        sizes, sliding_axis, stages, has_prefetch = self.plan_key
        in_flight = min(stages, self.iteration_count or stages)
        return sizes, sliding_axis, in_flight, has_prefetch

    @property
    def plan_key(self) -> PlanKey:
        """Key of the plan's tiling, without cost and required bytes."""
        return (
            (*self.tile_sizes, *self.reduction_tile_sizes),
            self.sliding_axis,
            self.stages,
            self.has_prefetch,
        )

    @property
    def min_rank_from_moves(self) -> int:
        """Lower bound of the first component of the rank, from the moves."""
        moved = round(self.cost.channel_cycles)
        return moved + moved // TILE_SEARCH.traffic_divisor

    @cached_property
    def rank(self) -> tuple[int, int, int]:
        """
        Sort key: cycles plus a fraction of the channel cycles, then bytes moved, then
        memory required.
        """
        moved = round(self.cost.channel_cycles)
        return (
            self.cost.total_cycles + moved // TILE_SEARCH.traffic_divisor,
            self.cost.payload_bytes,
            self.required_bytes,
        )

    def to_plan_attribute(
        self,
        level: str,
        retained_results: Sequence[int] = (),
        resident_operands: Sequence[int] = (),
        reloaded_operands: Sequence[int] = (),
    ) -> graph.PlanAttr:
        """
        Return the plan as an attribute: the results `retained_results` are retained in
        the level, the operands `resident_operands` are resident there, and of these,
        `reloaded_operands` are loaded again although they were resident in earlier
        groups.
        """
        return graph.PlanAttr(
            level,
            self.tile_sizes,
            self.reduction_tile_sizes,
            stages=1 if self.reduction_tile_sizes else self.stages,
            reduce_stages=self.stages,
            sliding=() if self.sliding_axis is None else (self.sliding_axis,),
            retain=retained_results,
            resident=resident_operands,
            reload=reloaded_operands,
            prefetch_distance=int(self.has_prefetch),
        )


KnownPlans: TypeAlias = "dict[PlanKey, OuterPlan | None]"
"""Plans by key."""

KnownFootprints: TypeAlias = "dict[PlanKey, tuple[Footprint, int] | None]"
"""Footprints of plans by key, with the required bytes."""


def min_cycles_from_single_tile(single_tile_cost: OuterCost | None) -> float:
    """
    Return a lower bound of the cycles of any tiling, from the cost of a single tile; 0
    if that cost is unknown.
    """
    if single_tile_cost is None:
        return 0
    return max(single_tile_cost.channel_cycles, single_tile_cost.compute_cycles)


def is_near_optimal(plan: OuterPlan, single_tile_cost: OuterCost) -> bool:
    """Return `True` if a plan is close to the lower bounds of traffic and of time."""
    cost = plan.cost
    return (
        cost.total_cycles
        <= min_cycles_from_single_tile(single_tile_cost)
        * TILE_SEARCH.near_optimal_ratio
        and cost.payload_bytes
        <= single_tile_cost.payload_bytes * TILE_SEARCH.near_optimal_ratio
    )
