"""Restrictions of a tile search, to measure what each of its freedoms is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlf.analysis.tiling.axes import Axes


@dataclass(frozen=True)
class Freedom:
    """Search space of plans; unrestricted unless given."""

    roll: bool = True
    """True if tiles may keep what they share with the next one along an axis."""
    stages: int | None = None
    """The most iterations in flight."""
    axes: tuple[int, ...] | None = None
    """The axes of the first result that tiles may cut; others stay whole."""

    def cut(self, axes: Axes) -> Axes:
        """The axes of a group, those free that may be cut."""
        free = (is_free and self.may_cut(at) for at, is_free in enumerate(axes.free))
        return replace(axes, free=tuple(free))

    def may_cut(self, axis: int) -> bool:
        """Return `True` if tiles may cut an axis, provided that is legal."""
        return self.axes is None or axis in self.axes

    def counts(self, stages: Sequence[int]) -> tuple[int, ...]:
        """Those of some numbers of iterations in flight that are few enough."""
        limit = self.stages
        return tuple(each for each in stages if limit is None or each <= limit)


ANYTHING = Freedom()
