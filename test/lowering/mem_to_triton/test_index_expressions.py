"""Index expressions: ranges and divisors hold for all values of their variables."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest

from tlf.lowering.mem_to_triton.index_expressions import IndexExpr

Binary = Callable[[IndexExpr, IndexExpr], IndexExpr]

BINARY: tuple[Binary, ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    IndexExpr.minimum,
    IndexExpr.maximum,
)


class Extrema:
    """Stand-in for the functions of Triton that emitted index arithmetic calls."""

    minimum = staticmethod(min)
    maximum = staticmethod(max)


@dataclass(frozen=True)
class Variable:
    """Variable with the multiples of a step as values."""

    name: str
    first: int
    step: int
    count: int

    @property
    def values(self) -> range:
        return range(self.first, self.first + self.step * self.count, self.step)

    @property
    def expression(self) -> IndexExpr:
        return IndexExpr(self.name, self.values[0], self.values[-1], divisor=self.step)


def random_expression(
    generator: random.Random, variables: list[Variable], depth: int
) -> IndexExpr:
    """Return an expression of variables and constants."""
    if depth == 0 or generator.random() < 0.1:
        if generator.random() < 0.2:
            return IndexExpr.of_constant(generator.randint(-6, 12))
        return generator.choice(variables).expression
    operand, other = (
        random_expression(generator, variables, depth - 1) for _ in range(2)
    )
    divisor = generator.choice((1, 2, 3, 4, 6, 8, 12))
    match generator.randrange(5):
        case 0:
            return operand.floordiv(divisor)
        case 1:
            return operand.modulo(divisor)
        case 2:
            terms = [(operand, generator.randint(-3, 4)), (other, divisor)]
            return IndexExpr.of_sum(terms)
        case _:
            return generator.choice(BINARY)(operand, other)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(200))
def test_ranges_and_divisors_hold(seed: int):
    generator = random.Random(seed)
    variables: list[Variable] = []
    for name in "ab":
        step, count = generator.choice((1, 2, 4, 6, 16)), generator.randint(1, 7)
        variables.append(Variable(name, step * generator.randint(-2, 2), step, count))
    expression = random_expression(generator, variables, 3)
    code = compile(expression.text, "expression", "eval")
    for values in product(*(each.values for each in variables)):
        names = dict(zip("ab", values, strict=True))
        value = eval(code, {"tl": Extrema, **names})
        assert expression.low <= value <= expression.high, expression
        divisor = expression.divisor
        assert value == 0 if divisor == 0 else value % divisor == 0, expression


def multiples(step: int) -> IndexExpr:
    """Return a variable with values from 0 to 60 steps."""
    return IndexExpr("i", 0, 60 * step, divisor=step)


def test_a_multiple_has_no_remainder():
    assert multiples(12).modulo(4) == IndexExpr.of_constant(0)
    assert multiples(12).floordiv(4).divisor == 3
    assert multiples(12).floordiv(8).divisor == 1


def test_a_remainder_is_a_multiple_of_the_common_divisor():
    remainder = multiples(12).modulo(32)
    assert (remainder.divisor, remainder.high) == (4, 28)


def test_products_and_sums_of_multiples():
    assert (multiples(4) * multiples(3)).divisor == 12
    assert (multiples(4) + multiples(6)).divisor == 2
    assert (multiples(8) - IndexExpr.of_constant(4)).divisor == 4


def test_a_variable_keeps_the_range_and_the_divisor():
    index = (multiples(4) + IndexExpr.of_constant(8)).bind_to_variable("k")
    assert index == IndexExpr("k", 8, 248, True, 4)


def test_sums_end_in_one_constant():
    i, j = IndexExpr("i", 0, 9), IndexExpr("j + 1", 1, 4, is_atom=False)
    five = IndexExpr.of_constant(5)
    assert IndexExpr.of_sum([(five, -2), (i, 3), (j, 1), (five, 1)]).text == (
        "i * 3 + j + 1 - 5"
    )
    assert IndexExpr.of_sum([(j, 4), (five, 0)]).text == "(j + 1) * 4"
    assert IndexExpr.of_sum([(i, 1), (j, 0)]) == i
    assert IndexExpr.of_sum([(five, 2)]) == IndexExpr.of_constant(10)
    assert IndexExpr.of_sum([(j, 1)]).parenthesised_text == "(j + 1)"
