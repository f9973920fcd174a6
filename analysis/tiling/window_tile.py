"""A rolling window: a tile that keeps what it shares with the previous iteration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tlf.dialects.interfaces import Scalar
from tlf.support.affine.index_access import AffineSum, Box, Interval


@dataclass(frozen=True)
class RollingWindow:
    """
    A tile that rolls: of the tile before, all that is still needed is kept.
    """

    axis: int
    """The axis that it moves along."""
    whole: Box
    new_part: Box
    """The part that is new in every iteration."""
    prologue_part: Box
    """The part that must be there before the first iteration."""
    fill: Scalar | None = None
    """Value that its elements outside of the tensor must have."""
    is_prefetched: bool = False
    """True if each iteration makes the new part of the next one."""

    @property
    def step(self) -> int:
        """Step along its axis in every iteration, in elements."""
        return self.new_part[self.axis].size

    @property
    def initial_tile(self) -> Box:
        """The whole tile that ends with what is kept, before the first iteration."""
        kept = self.prologue_part[self.axis]
        box = [*self.prologue_part]
        size = self.whole[self.axis].size
        box[self.axis] = Interval(kept.offset - self.step, size)
        return tuple(box)

    @property
    def previous_tile(self) -> Box:
        """The whole tile of the iteration before."""
        box = [*self.whole]
        whole = box[self.axis]
        box[self.axis] = replace(whole, offset=whole.offset + AffineSum(-self.step))
        return tuple(box)
