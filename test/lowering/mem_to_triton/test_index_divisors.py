"""Divisors of index expressions, by which masks of loads are omitted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import gcd

import pytest

from tlf.lowering.mem_to_triton.index_expressions import IndexExpr

Binary = Callable[[IndexExpr, IndexExpr], IndexExpr]

BINARY: list[Binary] = [
    IndexExpr.__add__,
    IndexExpr.__sub__,
    IndexExpr.__mul__,
    IndexExpr.minimum,
    IndexExpr.maximum,
]


class Minimum:
    """Stand-in for the functions of Triton."""

    minimum = staticmethod(min)
    maximum = staticmethod(max)


def values_of(expression: IndexExpr) -> list[int]:
    """Return the values for multiples of 4 of `x`, and of 6 of `y`."""
    return [
        eval(expression.text, {"x": x, "y": y, "tl": Minimum})
        for x, y in product(range(0, 25, 4), range(0, 25, 6))
    ]


@pytest.mark.parametrize("operation", BINARY, ids=lambda each: each.__name__)
@pytest.mark.parametrize("constant", [0, 2, 8, 9])
def test_divisors(operation: Binary, constant: int):
    x = IndexExpr("x", 0, 24, divisor=4)
    y = IndexExpr("y", 0, 24, divisor=6)
    for pair in ((x, y), (x, IndexExpr.of_constant(constant)), (x * y, y)):
        found = operation(*pair)
        assert gcd(found.divisor, *values_of(found)) == found.divisor


def test_multiples():
    x = IndexExpr("x", 0, 24, divisor=4)
    assert (x + IndexExpr.of_constant(8)).is_multiple_of(4)
    assert not (x + IndexExpr.of_constant(2)).is_multiple_of(4)
    assert (x * IndexExpr.of_constant(2)).is_multiple_of(8)
    assert not x.floordiv(2).is_multiple_of(4)
    assert x.maximum(IndexExpr.of_constant(12)).is_multiple_of(4)
    assert IndexExpr.of_constant(0).is_multiple_of(64)
