"""Planning of the tiles of updates that programs combine with elements of memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tlf.dialects.target import TargetSpec


def select_update_tile_sizes(
    shape: Sequence[int], target: TargetSpec
) -> tuple[int, ...]:
    """
    Return the tile extents of updates, which are powers of two: inner axes in full,
    outer axes split, so that there are enough programs to occupy the chip.
    """
    return select_tile_sizes(shape, 1, target)


def select_tile_sizes(
    shape: Sequence[int], element_size: int, target: TargetSpec
) -> tuple[int, ...]:
    """
    Return the tile extents of a tensor likewise, of which an element counts as
    `element_size` elements of a tile.
    """
    tiling, sizes = target.tiling, [1] * len(shape)
    preferred = tiling.tile_elements or tiling.max_elements or 1
    wanted = next_power_of_two(max(1, prod(shape) // tiling.programs))
    room = min(max(1, preferred // element_size), wanted)
    for axis in reversed(range(len(shape))):
        sizes[axis] = min(next_power_of_two(shape[axis]), room)
        room //= sizes[axis]
    return tuple(sizes)


def next_power_of_two(number: int) -> int:
    """Return the least power of two that is not less than a positive number."""
    return 1 << (number - 1).bit_length()
