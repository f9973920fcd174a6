"""Sets of small integers as bit masks, without IR."""

from collections.abc import Iterable, Iterator


def elements_of_mask(mask: int) -> Iterator[int]:
    """Yield the elements of a bit set, in ascending order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(numbers: Iterable[int]) -> int:
    """Return the bit set of some non-negative integers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask
