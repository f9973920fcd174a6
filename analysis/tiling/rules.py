"""Constraints on tiles in a memory level."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.analysis.operations.bands import SystolicArray
from tlf.support.affine.access import Box, Interval


@dataclass(frozen=True)
class Rules:
    """Constraints on tiles."""

    power_of_two: bool = False
    """Every extent of a tile is rounded up to a power of two."""
    views: bool = True
    """A part of a tile can be used without copying it."""
    gathers: bool = False
    """A movement of an input of a group is done by the move that cuts its tile."""
    indexed: bool = False
    """So is one that finds elements by indices."""
    ordered: bool = False
    """The axes of a tile lie in the order of those of the tensor that it is part of."""
    cascades: bool = False
    """Several reductions along one axis may run in one loop."""
    nests: bool = False
    """Contractions inside of that loop may have loops of their own."""
    again: bool = False
    """Tiles are tiled again, for a nearer memory: an operation on one may pad it."""
    alignment: int = 1
    """Tiles start at multiples of so many bytes."""
    array: SystolicArray | None = None
    """
    Systolic array that multiplies tiles, where neighbouring results of a window may be
    columns.
    """

    def capacity(self, size: int) -> int:
        """The extent that a tile gets to hold `size` elements along an axis."""
        return 1 << (size - 1).bit_length() if self.power_of_two else size

    def widen(self, box: Box) -> Box:
        """Give every interval the room that tiles have."""
        if not self.power_of_two or all(
            each.capacity == self.capacity(each.room) for each in box
        ):
            return box
        return tuple(
            Interval(each.offset, each.size, self.capacity(each.room)) for each in box
        )
