"""Candidate tile sizes of a search along one axis, without IR."""

from __future__ import annotations

from math import ceil

from tlf.planner.settings.search_budgets import TILE_SEARCH


def size_options(extent: int) -> tuple[int, ...]:
    """
    Return the tile sizes to evaluate: integer fractions of an axis and powers of two.
    """
    sizes = {ceil(extent / count) for count in range(1, 9)}
    sizes |= {ceil(extent / (1 << power)) for power in range(extent.bit_length())}
    sizes |= {1 << power for power in range(extent.bit_length())}
    return tuple(sorted(sizes))


def nearby_sizes(extent: int) -> tuple[int, ...]:
    """
    Return the tile sizes to evaluate near the best plan: any size of a short axis,
    otherwise those of `size_options`.
    """
    return (
        tuple(range(1, extent + 1))
        if extent <= TILE_SEARCH.exhaustive_extent
        else size_options(extent)
    )


def halving_sizes(extent: int, floor: int) -> tuple[int, ...]:
    """Return an extent and its successive halves down to `floor`, smallest first."""
    sizes = [extent]
    while sizes[-1] >= 2 * floor:
        sizes.append((sizes[-1] + 1) // 2)
    return tuple(reversed(sizes))


def stepping_sizes(extent: int, floor: int) -> tuple[int, ...]:
    """
    Return the halves of an extent and powers of two, down to `floor`: several axes
    together may fill an array.
    """
    powers = (1 << power for power in range(extent.bit_length()))
    sizes = {*halving_sizes(extent, floor), *(each for each in powers if each >= floor)}
    return tuple(sorted(sizes))


def divisor_sizes(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes that divide the longest one evenly."""
    if len(sizes) < 2:
        return sizes
    extent = max(sizes)
    return tuple(size for size in range(1, extent + 1) if extent % size == 0)
