"""How many iterations of the loops of a group are in flight."""

from __future__ import annotations

from typing import NamedTuple


class InFlight(NamedTuple):
    """Iterations that overlap: one is loaded for while others are computed."""

    tiles: int = 1
    """Of the loops over tiles."""
    pieces: int = 1
    """Of the loops over the pieces of a reduction, for each tile."""


SINGLE = InFlight()
"""Nothing overlaps."""
