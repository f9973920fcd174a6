"""The axes of a group along which it may be tiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TileableAxes:
    """
    The axes of a group along which its root may be tiled.

    An axis is free where every accumulating operation moves along with it. Were another
    one tiled, reductions would be computed again for each of its tiles. That is worth a
    thought where they are steps of a cascade that no contraction computes anything for.
    """

    parallel: tuple[int, ...]
    """The extents of the root's parallel iterators."""
    free: tuple[bool, ...]
    reduction: tuple[int, ...]
    """
    The extents of the one reduction that may have a loop, empty if there is none, and
    of those that may have loops in that loop.
    """
    reduction_free: tuple[bool, ...]
    nested: int = 0
    """Number of reductions that belong to loops nested in another one's loop."""

    def min_tile(self) -> tuple[int, ...]:
        """The smallest tile."""
        return _min_sizes(self.parallel, self.free)

    def min_reduction_tile(self) -> tuple[int, ...]:
        """The smallest step of the reduction."""
        return _min_sizes(self.reduction, self.reduction_free)


def _min_sizes(extents: Sequence[int], free: Sequence[bool]) -> tuple[int, ...]:
    pairs = zip(extents, free, strict=True)
    return tuple(1 if each else extent for extent, each in pairs)
