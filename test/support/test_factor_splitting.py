"""
Factors split into two numbers of bf16, against exact products.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tlf.support.factor_splitting import split_factor

BF16 = np.dtype(ml_dtypes.bfloat16)


def round_to_bf16(value: Fraction) -> float:
    """Round a normal number to the nearest bf16, halves to even."""
    if value == 0:
        return 0.0
    exponent = np.frexp(float(abs(value)))[1] - 8
    scaled = value / Fraction(2) ** int(exponent)
    return float(Fraction(round(scaled)) * Fraction(2) ** int(exponent))


@pytest.mark.parametrize("size", [32, 48, 72, 80, 96, 128, 192, 20])
def test_products_are_those_of_f32(size: int) -> None:
    factor = np.float32((-1) ** (size == 20) / np.sqrt(size))
    split = split_factor(float(factor))
    assert split is not None
    high, low = map(Fraction, split)
    assert float(BF16.type(float(high))) == high
    assert float(BF16.type(float(low))) == low
    for mantissa in range(128, 256):
        for sign in (1, -1):
            x = Fraction(sign * mantissa, 64)
            product = np.float32(float(x)) * factor
            got = round_to_bf16(x * high + Fraction(round_to_bf16(x * low)))
            assert got == round_to_bf16(Fraction(float(product)))


def test_infinite_and_unsplittable_factors() -> None:
    assert split_factor(float("nan")) is None
    assert split_factor(float("inf")) is None
    assert split_factor(1e-39) is None


def test_signs_agree() -> None:
    for factor in np.random.default_rng(0).uniform(-9, 9, 40):
        if (split := split_factor(float(factor))) is not None:
            high, low = split
            assert high * low >= 0
            assert abs(high + low - factor) < abs(factor) * 2.0**-12


def test_most_factors_can_be_split() -> None:
    factors = np.random.default_rng(1).uniform(0.05, 9, 60)
    found = [split_factor(float(factor)) for factor in factors]
    assert sum(split is not None for split in found) > 40
