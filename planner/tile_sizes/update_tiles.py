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
    tiling, sizes = target.tiling, [1] * len(shape)
    preferred = tiling.tile_elements or tiling.max_elements or 1
    wanted = max(1, prod(shape) // tiling.programs)
    room = min(preferred, _next_power_of_two(wanted))
    for axis in reversed(range(len(shape))):
        sizes[axis] = min(_next_power_of_two(shape[axis]), room)
        room //= sizes[axis]
    return tuple(sizes)


def _next_power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
