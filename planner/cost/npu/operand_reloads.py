"""
Number of times that a product's operands are loaded into an inner level.

Source: the blocked product of Hong and Kung, "I/O complexity: the red-blue pebble game"
(STOC 1981): a block of one array stays, and the others are read for each block.
"""

from __future__ import annotations

from math import ceil


def reload_counts(left: float, right: float, sums: int, room: float) -> tuple[int, int]:
    """
    Return how many times each of two factors is moved, all of so many bytes, through
    `room` bytes: blocks of a factor stay while all of the other pass, or blocks of sums
    while rows of one factor meet columns of the other.
    """
    ways = [(1, ceil(left / room)), (ceil(right / room), 1)]
    blocks = ceil(sums / room)
    ways += [(ceil(blocks / rows), rows) for rows in _powers_of_two(blocks)]
    return min(ways, key=lambda way: way[0] * left + way[1] * right)


def _powers_of_two(blocks: int) -> list[int]:
    """Powers of two up to a number of blocks."""
    return [1 << octave for octave in range(blocks.bit_length())]
