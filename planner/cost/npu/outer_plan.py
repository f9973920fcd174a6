"""
Planned tiles of a group at an outer level of an NPU, with their estimated cost and
rank.
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
    """Tiling of a group and its cost."""

    tile: Sizes
    sliding: int | None
    stages: int
    """Iterations in flight: of reduction tiles, or of tiles."""
    cost: OuterCost
    required_bytes: int
    """Bytes required in the level."""
    reduce: Sizes = ()
    """Sizes of the reduction tiles; empty if the reduction is whole."""
    has_prefetch: bool = False
    """True if the values that windows read are computed an iteration early."""

    @property
    def key(self) -> PlanKey:
        """Key of the plan in `OuterSearch.plan_for`."""
        return (*self.tile, *self.reduce), self.sliding, self.stages, self.has_prefetch

    @property
    def min_rank(self) -> int:
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

    def to_attribute(
        self,
        level: str,
        keep: Sequence[int] = (),
        hold: Sequence[int] = (),
        reload: Sequence[int] = (),
    ) -> graph.PlanAttr:
        """
        Return the plan as an attribute: the results `keep` are retained in the level,
        the operands `hold` are resident there, and of these, `reload` are loaded again
        although they were resident in earlier groups.
        """
        return graph.PlanAttr(
            level,
            self.tile,
            self.reduce,
            stages=1 if self.reduce else self.stages,
            reduce_stages=self.stages,
            sliding=() if self.sliding is None else (self.sliding,),
            retain=keep,
            resident=hold,
            reload=reload,
            prefetch_distance=int(self.has_prefetch),
        )


KnownPlans: TypeAlias = "dict[PlanKey, OuterPlan | None]"
"""Plans by key."""

KnownFootprints: TypeAlias = "dict[PlanKey, tuple[Footprint, int] | None]"
"""Footprints of plans by key, with the required bytes."""


def min_cycles_of(only: OuterCost | None) -> float:
    """
    Return a lower bound of the cycles of any tiling, from the cost of a single tile; 0
    if that cost is unknown.
    """
    if only is None:
        return 0
    return max(only.channel_cycles, only.compute_cycles)


def is_near_optimal(plan: OuterPlan, only: OuterCost) -> bool:
    """Return `True` if a plan is close to the lower bounds of traffic and of time."""
    cost = plan.cost
    return (
        cost.total_cycles <= min_cycles_of(only) * TILE_SEARCH.near_optimal_ratio
        and cost.payload_bytes <= only.payload_bytes * TILE_SEARCH.near_optimal_ratio
    )
