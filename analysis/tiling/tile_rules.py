"""Analysis of tiles, without IR: constraints on tiles in a memory level."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.support.affine.index_access import Box, Interval


@dataclass(frozen=True)
class TileRules:
    """Constraints on tiles and loops that depend on the target and its memory level."""

    power_of_two: bool = False
    """True if every extent of a tile is rounded up to a power of two."""
    has_views: bool = True
    """True if a part of a tile can be used without copying."""
    has_gather_moves: bool = False
    """True if the move that slices a tile can perform a movement of a group input."""
    has_indexed_moves: bool = False
    """True if moves can also gather elements by indices."""
    is_axis_ordered: bool = False
    """True if the axes of a tile are in the order of the axes of its tensor."""
    has_cascades: bool = False
    """True if several reductions along one axis may run in one loop."""
    has_nested_loops: bool = False
    """True if contractions inside the loop of a cascade may have their own loops."""
    has_variable_trips: bool = False
    """True if reduction loops may have bounds that depend on the loops around them."""
    is_retiled: bool = False
    """
    True if tiles are tiled again for an inner level, where an operation may pad them.
    """
    alignment: int = 1
    """Alignment of tiles in bytes."""
    array: SystolicArray | None = None
    """
    Systolic array that multiplies tiles, or None. With an array, neighbouring results
    of a sliding window may become columns of a banded matmul.
    """

    def padded_tile_extent(self, size: int) -> int:
        """Return the extent of a tile that contains `size` elements along an axis."""
        return 1 << (size - 1).bit_length() if self.power_of_two else size

    def pad_box_capacities(self, box: Box) -> Box:
        """Return a box with the capacity of every interval set to its padded extent."""
        if not self.power_of_two or all(
            each.capacity == self.padded_tile_extent(each.tile_extent) for each in box
        ):
            return box
        return tuple(
            Interval(each.offset, each.size, self.padded_tile_extent(each.tile_extent))
            for each in box
        )
