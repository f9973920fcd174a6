"""Tiles that keep what they share with the tile before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tlf.dialects.interfaces import Scalar
from tlf.support.affine.access import Box, Interval, Linear


@dataclass(frozen=True)
class Window:
    """
    A tile that rolls: of the tile before, all that is still needed is kept.
    """

    axis: int
    """The axis that it moves along."""
    whole: Box
    fresh: Box
    """The part that is new in every iteration."""
    kept: Box
    """The part that must be there before the first iteration."""
    fill: Scalar | None = None
    """Value that its elements outside of the tensor must have."""
    leads: bool = False
    """True if each iteration makes the new part of the next one."""

    @property
    def count(self) -> int:
        """Step along its axis in every iteration, in elements."""
        return self.fresh[self.axis].size

    @property
    def initial(self) -> Box:
        """The whole tile that ends with what is kept, before the first iteration."""
        kept = self.kept[self.axis]
        box = [*self.kept]
        size = self.whole[self.axis].size
        box[self.axis] = Interval(kept.offset - self.count, size)
        return tuple(box)

    @property
    def before(self) -> Box:
        """The whole tile of the iteration before."""
        box = [*self.whole]
        whole = box[self.axis]
        box[self.axis] = replace(whole, offset=whole.offset + Linear(-self.count))
        return tuple(box)
