"""Search space of tile plans, restricted to measure the worth of each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlf.analysis.tiling.tileable_axes import TileableAxes


@dataclass(frozen=True)
class SearchSpace:
    """Search space of plans; unrestricted unless given."""

    sliding: bool = True
    """True if tiles may keep what they share with the next one along an axis."""
    stages: int | None = None
    """The most iterations in flight."""
    axes: tuple[int, ...] | None = None
    """The axes of the first result that tiles may cut; others stay whole."""

    def restrict_axes(self, axes: TileableAxes) -> TileableAxes:
        """Return the axes of a group with only those free that may be tiled."""
        free = (is_free and self.can_tile(at) for at, is_free in enumerate(axes.free))
        return replace(axes, free=tuple(free))

    def can_tile(self, axis: int) -> bool:
        """Return `True` if tiles may cut an axis, provided that is legal."""
        return self.axes is None or axis in self.axes

    def restrict_stages(self, stages: Sequence[int]) -> tuple[int, ...]:
        """Return the stage counts that do not exceed the limit."""
        limit = self.stages
        return tuple(each for each in stages if limit is None or each <= limit)


UNRESTRICTED = SearchSpace()
