"""Split a sequence of numbers into runs of repeated patterns."""

import numpy as np

from tlf.runtime.npu.scalar_arithmetic import Numbers

_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128)
_LEAST = 4
"""Repetitions that make a pattern of more than one number worth it."""


def find_repeats(numbers: Numbers) -> list[tuple[tuple[int, ...], int]]:
    """
    Cut a sequence into patterns, each with how many times in a row it stands there.
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
            # What matches the number `each` before it goes on until `end`.
            times = (int(end[start]) + each - start) // each
            if times > 1 and (each == 1 or times >= _LEAST) and times * each > count:
                length, count = each, times
                break
        result.append((tuple(numbers[start : start + length].tolist()), count))
        start += length * count
    return result


def _match_ends(numbers: Numbers, length: int) -> Numbers:
    """By position, the next one whose number is not that `length` further on."""
    same = numbers[:-length] == numbers[length:]
    positions = np.where(same, len(same), np.arange(len(same)))
    return np.minimum.accumulate(positions[::-1])[::-1]
