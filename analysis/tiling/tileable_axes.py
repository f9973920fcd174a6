"""Analysis result: axes along which a group may be tiled, without IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TileableAxes:
    """
    Axes of a group along which its root may be tiled.

    An axis is free if the tiles of every accumulating operation move along it. Tiling
    any other axis would recompute reductions for each tile. This is allowed for steps
    of a cascade that do not depend on a contraction.
    """

    parallel: tuple[int, ...]
    """Extents of the parallel iterators of the root."""
    free: tuple[bool, ...]
    reduction: tuple[int, ...]
    """
    Extents of the reduction that may have a loop, empty if there is none, followed by
    those of reductions that may have nested loops.
    """
    reduction_free: tuple[bool, ...]
    nested: int = 0
    """Number of reduction extents that belong to nested loops."""

    def min_tile(self) -> tuple[int, ...]:
        """Return the smallest tile."""
        return _min_tile_sizes(self.parallel, self.free)

    def min_reduction_tile(self) -> tuple[int, ...]:
        """Return the smallest tile along reduction axes."""
        return _min_tile_sizes(self.reduction, self.reduction_free)


def _min_tile_sizes(extents: Sequence[int], free: Sequence[bool]) -> tuple[int, ...]:
    pairs = zip(extents, free, strict=True)
    return tuple(1 if each else extent for extent, each in pairs)
