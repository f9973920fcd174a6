"""Tile plan of a group at an outer level, with its cost and rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tlf.dialects import graph
from tlf.planner.cost.npu.tile_footprint import Footprint
from tlf.planner.cost.npu.tiled_group import OuterCost

Sizes: TypeAlias = tuple[int, ...]

PlanKey: TypeAlias = "tuple[Sizes, int | None, int, bool]"
"""
Tile sizes, the axis along which tiles roll, iterations in flight, and whether what is
computed for windows leads.
"""

TRAFFIC = 3
"""A cycle of the channel counts for one part in so many where nothing waits for it."""

ENOUGH = 1.02
"""A plan so near to what no tiling beats is good enough."""


@dataclass(frozen=True)
class OuterPlan:
    """Tiling of a group, and its cost."""

    tile: Sizes
    sliding: int | None
    stages: int
    """Iterations in flight: over pieces of a reduction, or over tiles."""
    cost: OuterCost
    required_bytes: int
    """Bytes of the level."""
    reduce: Sizes = ()
    """The sizes of the pieces of a reduction, if it does not run whole."""
    has_prefetch: bool = False
    """True if the values that windows read are computed an iteration ahead."""

    @property
    def key(self) -> PlanKey:
        """Key of the plan in `OuterSearch.plan_for`."""
        return (*self.tile, *self.reduce), self.sliding, self.stages, self.has_prefetch

    @property
    def min_rank(self) -> int:
        """The first number of its rank, if nothing but moves took time."""
        moved = round(self.cost.channel_cycles)
        return moved + moved // TRAFFIC

    @cached_property
    def rank(self) -> tuple[int, int, int]:
        """
        Plans are better the faster they are, and a part of that the less they move;
        then the less memory they need.
        """
        moved = round(self.cost.channel_cycles)
        return (
            self.cost.total_cycles + moved // TRAFFIC,
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
        The plan of a group of which some results stay in the level, and some operands
        lie there whole, brought anew where earlier groups held them.
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
"""Plans by what tells them apart."""

KnownFootprints: TypeAlias = "dict[PlanKey, tuple[Footprint, int] | None]"
"""Memory that such plans take: the buffers, and their bytes."""


def min_cycles_of(only: OuterCost | None) -> float:
    """
    Return a lower bound of the cycles of any tiling, from the cost with one tile; 0
    where that is not known.
    """
    if only is None:
        return 0
    return max(only.channel_cycles, only.compute_cycles)


def is_near_optimal(plan: OuterPlan, only: OuterCost) -> bool:
    """Return `True` if a plan can hardly be beaten, neither in traffic nor in time."""
    cost = plan.cost
    return (
        cost.total_cycles <= min_cycles_of(only) * ENOUGH
        and cost.payload_bytes <= only.payload_bytes * ENOUGH
    )
