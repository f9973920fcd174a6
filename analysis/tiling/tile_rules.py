"""Constraints on tiles in a memory level."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.support.affine.index_access import Box, Interval


@dataclass(frozen=True)
class TileRules:
    """Constraints on tiles."""

    power_of_two: bool = False
    """Every extent of a tile is rounded up to a power of two."""
    has_views: bool = True
    """A part of a tile can be used without copying it."""
    has_gather_moves: bool = False
    """A movement of an input of a group is done by the move that cuts its tile."""
    has_indexed_moves: bool = False
    """So is one that finds elements by indices."""
    is_axis_ordered: bool = False
    """The axes of a tile lie in the order of those of the tensor that it is part of."""
    has_cascades: bool = False
    """Several reductions along one axis may run in one loop."""
    has_nested_loops: bool = False
    """Contractions inside of that loop may have loops of their own."""
    is_retiled: bool = False
    """Tiles are tiled again, for a nearer memory: an operation on one may pad it."""
    alignment: int = 1
    """Tiles start at multiples of so many bytes."""
    array: SystolicArray | None = None
    """
    Systolic array that multiplies tiles, where neighbouring results of a window may be
    columns.
    """

    def padded_extent(self, size: int) -> int:
        """The extent that a tile gets to hold `size` elements along an axis."""
        return 1 << (size - 1).bit_length() if self.power_of_two else size

    def pad_box(self, box: Box) -> Box:
        """Give every interval the room that tiles have."""
        if not self.power_of_two or all(
            each.capacity == self.padded_extent(each.tile_extent) for each in box
        ):
            return box
        return tuple(
            Interval(each.offset, each.size, self.padded_extent(each.tile_extent))
            for each in box
        )
