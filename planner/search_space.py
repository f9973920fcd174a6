"""
Search space of the planner's tile plans, without IR: restrictions measure the benefit
of each dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlf.analysis.tiling.tileable_axes import TileableAxes


@dataclass(frozen=True)
class SearchSpace:
    """Restrictions of the plans that a search may choose; none by default."""

    allows_sliding: bool = True
    """
    True if tiles may keep the elements that they share with the next tile along an
    axis.
    """
    max_stages: int | None = None
    """Maximum number of iterations in flight."""
    tileable_axes: tuple[int, ...] | None = None
    """Axes of the first result that may be tiled; other axes stay whole."""
    max_warps: int | None = None
    """Maximum number of warps of a program."""

    def restrict_tileable_axes(self, axes: TileableAxes) -> TileableAxes:
        """Return the axes of a group with only those free that may be tiled."""
        free = (
            is_free and self.can_tile_axis(at) for at, is_free in enumerate(axes.free)
        )
        return replace(axes, free=tuple(free))

    def can_tile_axis(self, axis: int) -> bool:
        """Return `True` if an axis may be tiled, provided that is legal."""
        return self.tileable_axes is None or axis in self.tileable_axes

    def restrict_stage_counts(self, stages: Sequence[int]) -> tuple[int, ...]:
        """Return the stage counts that do not exceed the limit."""
        limit = self.max_stages
        return tuple(each for each in stages if limit is None or each <= limit)


UNRESTRICTED = SearchSpace()
