"""Search for tile sizes on an NPU, without IR: candidate sizes along one axis."""

from __future__ import annotations

from math import ceil, isqrt

from tlf.planner.settings.search_budgets import TILE_SEARCH


def tile_size_options(extent: int) -> tuple[int, ...]:
    """
    Return the tile sizes to evaluate: integer fractions of an axis and powers of two.
    """
    sizes = {ceil(extent / count) for count in range(1, 9)}
    sizes |= {ceil(extent / (1 << power)) for power in range(extent.bit_length())}
    sizes |= {1 << power for power in range(extent.bit_length())}
    return tuple(sorted(sizes))


def tile_sizes_near_best(extent: int) -> tuple[int, ...]:
    """
    Return the tile sizes to evaluate near the best plan: any size of a short axis,
    otherwise those of `tile_size_options`.
    """
    return (
        tuple(range(1, extent + 1))
        if extent <= TILE_SEARCH.exhaustive_extent
        else tile_size_options(extent)
    )


def halves_of_extent(extent: int, min_size: int) -> tuple[int, ...]:
    """Return an extent and its successive halves down to `min_size`, smallest first."""
    sizes = [extent]
    while sizes[-1] >= 2 * min_size:
        sizes.append((sizes[-1] + 1) // 2)
    return tuple(reversed(sizes))


def halves_and_powers_of_two(extent: int, min_size: int) -> tuple[int, ...]:
    """
    Return the halves of an extent and powers of two, down to `min_size`: several axes
    together may fill an array.
    """
    powers = (1 << power for power in range(extent.bit_length()))
    sizes = {
        *halves_of_extent(extent, min_size),
        *(each for each in powers if each >= min_size),
    }
    return tuple(sorted(sizes))


def sizes_dividing_longest(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return all divisors of the largest size, ascending; a lone size unchanged."""
    if len(sizes) < 2:
        return sizes
    extent = max(sizes)
    return tuple(size for size in range(1, extent + 1) if extent % size == 0)


def min_product_extent_in(capacity: int) -> int:
    """
    Return the minimum columns and reduction steps of a product's tile in a memory of
    `capacity` bytes: a power of two, less than usual if two slots of the factors and
    sums of larger tiles do not fit.
    """
    side = isqrt(capacity // TILE_SEARCH.product_tile_bytes)
    return min(TILE_SEARCH.min_product_extent, 1 << max(0, side.bit_length() - 1))
