"""
Number of times that a product's operands are loaded into an inner level.

Source: the blocked product of Hong and Kung, "I/O complexity: the red-blue pebble game"
(STOC 1981): a block of one array stays, and the others are read for each block.
"""

from __future__ import annotations

from math import ceil


def reload_counts(left: float, right: float, sums: int, room: float) -> tuple[int, int]:
    """
    Return the number of loads of two factors of `left` and `right` bytes through `room`
    bytes: blocks of one factor stay while the whole other factor is read, or blocks of
    `sums` bytes of accumulators stay while rows of one factor meet columns of the
    other.
    """
    options = [(1, ceil(left / room)), (ceil(right / room), 1)]
    blocks = ceil(sums / room)
    options += [(ceil(blocks / rows), rows) for rows in _powers_of_two(blocks)]
    return min(options, key=lambda option: option[0] * left + option[1] * right)


def _powers_of_two(blocks: int) -> list[int]:
    """Return the powers of two up to a number of blocks."""
    return [1 << octave for octave in range(blocks.bit_length())]
