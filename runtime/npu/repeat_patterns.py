"""Split a sequence of numbers into runs of repeated patterns."""

import numpy as np

from tlf.runtime.npu.scalar_arithmetic import Numbers

_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128)
_LEAST = 4
"""Minimum number of repetitions of a pattern of more than one element."""


def find_repeats(numbers: Numbers) -> list[tuple[tuple[int, ...], int]]:
    """
    Split a sequence into patterns, each with its number of consecutive repetitions.
    """
    size = len(numbers)
    ends = {
        length: _match_ends(numbers, length) for length in _LENGTHS if length < size
    }
    result: list[tuple[tuple[int, ...], int]] = []
    start = 0
    while start < size:
        length, count = 1, 1
        for each, end in ends.items():
            if start + each >= size:
                break
            # Elements match those `each` positions later up to `end`.
            times = (int(end[start]) + each - start) // each
            if times > 1 and (each == 1 or times >= _LEAST) and times * each > count:
                length, count = each, times
                break
        result.append((tuple(numbers[start : start + length].tolist()), count))
        start += length * count
    return result


def _match_ends(numbers: Numbers, length: int) -> Numbers:
    """
    Return, for each position, the next one whose element differs from that `length`
    positions later.
    """
    same = numbers[:-length] == numbers[length:]
    positions = np.where(same, len(same), np.arange(len(same)))
    return np.minimum.accumulate(positions[::-1])[::-1]
