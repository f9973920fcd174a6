"""Planning of tiles of whole rows, such as those that programs sort."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.dialects.target import TargetSpec
from tlf.planner.tile_sizes.update_tiles import next_power_of_two, select_tile_sizes


def select_row_tile_sizes(shape: Sequence[int], target: TargetSpec) -> tuple[int, ...]:
    """
    Return the tile extents of a tensor with whole rows: powers of two, of which the
    last is at least the axis.
    """
    row = next_power_of_two(shape[-1])
    return (*select_tile_sizes(shape[:-1], row, target), row)
