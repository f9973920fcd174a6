"""
Products of bf16 and a factor that is not a bf16, by operations on bf16:
`fma(x, high, x * low)`, where `high + low` approximates the factor.

The result is that of a product in f32, rounded to bf16, for each x: all of them are
compared. Numbers of opposite signs are not used: with an infinite x their sum is NaN.
The range of f16 is too small for products with `low`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

_NEIGHBOURS = 4
"""Numbers on each side of the nearest remainder that are tried."""

_EXACT_FROM = 2.0**-100
"""Size of the least products that are exact: for others, `x * low` may be subnormal."""


def split_factor(factor: float) -> tuple[float, float] | None:
    """
    Return two numbers of bf16, `high` and `low`, so that `fma(x, high, x * low)` is the
    product of x and an f32 `factor`, rounded to bf16, for each x of bf16; `None` if
    there are none. Products below 2^-100 may differ in the last bit.
    """
    single = np.float32(factor)
    if not np.isfinite(single):
        return None
    with np.errstate(all="ignore"):
        numbers = np.arange(1 << 15, dtype=np.uint16).view(BFLOAT16).astype(np.float64)
        expected = (numbers * single).astype(np.float32).astype(BFLOAT16)
        for high, low in _candidates(single):
            addends = _round_once(numbers * low).astype(np.float64)
            if _are_equal(_round_once(numbers * high + addends), expected):
                return high, low
    return None


def _candidates(factor: np.float32) -> Iterator[tuple[float, float]]:
    """
    Yield the greatest number not beyond a factor, and the next one towards 0, each with
    numbers near the remainder.
    """
    nearest = factor.astype(BFLOAT16)
    is_beyond = abs(float(nearest)) > abs(float(factor))
    first = int(nearest.view(np.uint16)) - is_beyond
    for high in map(_number_of_bits, (first, first - 1)):
        remainder = np.float64(float(factor) - high)
        centre = int(remainder.astype(BFLOAT16).view(np.uint16))
        for step in sorted(range(-_NEIGHBOURS, _NEIGHBOURS + 1), key=abs):
            low = _number_of_bits(centre + step)
            if np.isfinite(low) and np.signbit(low) == np.signbit(high):
                yield high, low


def _number_of_bits(bits: int) -> float:
    """Return the bf16 of some bits, modulo 2^16."""
    return float(np.array(bits % (1 << 16), np.uint16).view(BFLOAT16)[()])


def _round_once(values: Array) -> Array:
    """
    Round f64 to bf16 as if in one step: by way of f32, rounded to odd (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
    """
    single = values.astype(np.float32)
    size, exact_size = np.abs(single.astype(np.float64)), np.abs(values)
    bits = single.view(np.uint32) - (size > exact_size)
    is_inexact = (size > exact_size) | (size < exact_size)
    return (bits | is_inexact).astype(np.uint32).view(np.float32).astype(BFLOAT16)


def _are_equal(got: Array, expected: Array) -> bool:
    """Return `True` if products are equal, but for the last bit of very small ones."""
    difference = got.view(np.int16).astype(int) - expected.view(np.int16).astype(int)
    is_equal = (difference == 0) | (np.isnan(got) & np.isnan(expected))
    is_small = np.abs(expected.astype(np.float64)) < _EXACT_FROM
    return bool(np.all(is_equal | (is_small & (np.abs(difference) <= 1))))
