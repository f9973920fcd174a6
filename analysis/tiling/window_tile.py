"""
Analysis result: a rolling window, the tile that retains its overlap with the iteration
before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tlf.dialects.interfaces import Scalar
from tlf.support.affine.index_access import AffineSum, Box, Interval


@dataclass(frozen=True)
class RollingWindow:
    """Tile that retains its overlap with the tile of the previous iteration."""

    axis: int
    """Axis along which the window moves."""
    whole_tile: Box
    new_part: Box
    """Part that is new in every iteration."""
    prologue_part: Box
    """Part that must be filled before the first iteration."""
    fill: Scalar | None = None
    """Value of elements outside of the tensor."""
    is_prefetched: bool = False
    """True if each iteration computes the new part of the next one."""

    @property
    def step_per_iteration(self) -> int:
        """Step along the axis per iteration, in elements."""
        return self.new_part[self.axis].size

    @property
    def initial_tile(self) -> Box:
        """Whole tile that ends with the prologue part, before the first iteration."""
        interval = self.prologue_part[self.axis]
        box = [*self.prologue_part]
        size = self.whole_tile[self.axis].size
        box[self.axis] = Interval(interval.offset - self.step_per_iteration, size)
        return tuple(box)

    @property
    def previous_tile(self) -> Box:
        """Box of the whole tile, moved back by one iteration along the rolling axis."""
        box = [*self.whole_tile]
        interval = box[self.axis]
        box[self.axis] = replace(
            interval, offset=interval.offset + AffineSum(-self.step_per_iteration)
        )
        return tuple(box)
