"""Candidate tile sizes along one axis."""

from __future__ import annotations

from math import ceil

SHORT = 8
"""Any size of an axis of so many elements is worth a closer look."""


def size_options(extent: int) -> tuple[int, ...]:
    """The tile sizes worth a try: whole parts of an axis, and powers of two."""
    parts = {ceil(extent / count) for count in range(1, 9)}
    parts |= {ceil(extent / (1 << power)) for power in range(extent.bit_length())}
    parts |= {1 << power for power in range(extent.bit_length())}
    return tuple(sorted(parts))


def nearby_sizes(extent: int) -> tuple[int, ...]:
    """The sizes worth a closer look: those worth a try, and any of a short axis."""
    return tuple(range(1, extent + 1)) if extent <= SHORT else size_options(extent)


def halving_sizes(extent: int, floor: int) -> tuple[int, ...]:
    """A whole axis, its half, and so on down to `floor`; the smallest first."""
    sizes = [extent]
    while sizes[-1] >= 2 * floor:
        sizes.append((sizes[-1] + 1) // 2)
    return tuple(reversed(sizes))


def stepping_sizes(extent: int, floor: int) -> tuple[int, ...]:
    """Halves, and powers of two down to `floor`: several axes may fill an array."""
    powers = (1 << power for power in range(extent.bit_length()))
    found = {*halving_sizes(extent, floor), *(each for each in powers if each >= floor)}
    return tuple(sorted(found))


def divisor_sizes(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes that divide the longest one evenly."""
    if len(sizes) < 2:
        return sizes
    extent = max(sizes)
    return tuple(size for size in range(1, extent + 1) if extent % size == 0)
