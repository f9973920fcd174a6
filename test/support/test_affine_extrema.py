"""Maxima and minima of affine sums, and the ranges in which conditions on them hold."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from itertools import product

import pytest

from tlf.support.affine.affine_extrema import (
    Ranges,
    Term,
    add_terms,
    bounds_of_term,
    evaluate_term,
    maximum_of,
    minimum_of,
    negate_term,
    round_down_sum,
    simplify_term,
)
from tlf.support.affine.index_access import AffineSum
from tlf.support.affine.solution_range import (
    SteppedSymbol,
    range_containing_solutions,
    range_within_solutions,
)

STEPS: Mapping[Hashable, int] = {"m": 4, "k": 2}
RANGES: Ranges = {"m": (0, 12), "k": (0, 14)}
POINTS: list[Mapping[Hashable, int]] = [
    {"m": m, "k": k} for m, k in product(range(0, 13, 4), range(-20, 40, STEPS["k"]))
]
TERMS = 200


def draw_sum(rng: random.Random) -> AffineSum:
    terms = ((name, rng.randint(-3, 3)) for name in STEPS)
    return AffineSum(rng.randint(-20, 20), tuple(term for term in terms if term[1]))


def draw_term(rng: random.Random, depth: int = 2) -> Term:
    if depth == 0 or rng.random() < 0.3:
        return draw_sum(rng)
    pick = rng.choice([maximum_of, minimum_of])
    return pick([draw_term(rng, depth - 1) for _ in range(rng.randint(1, 3))])


def within(point: Mapping[Hashable, int]) -> bool:
    return all(low <= point[name] <= high for name, (low, high) in RANGES.items())


@pytest.mark.one_in(1)
@pytest.mark.parametrize("seed", range(TERMS))
def test_arithmetic(seed: int):
    rng = random.Random(seed)
    left, right = draw_term(rng), draw_term(rng)
    pair = left, right
    low, high = bounds_of_term(left, RANGES)
    for point in POINTS:
        a, b = (evaluate_term(each, point) for each in pair)
        assert evaluate_term(negate_term(left), point) == -a
        assert evaluate_term(add_terms(left, right), point) == a + b
        assert evaluate_term(maximum_of(pair), point) == max(a, b)
        assert evaluate_term(minimum_of(pair), point) == min(a, b)
        if within(point):
            assert low <= a <= high
            assert evaluate_term(simplify_term(left, RANGES), point) == a


def test_operands_that_never_decide_are_removed():
    m = AffineSum.of_symbol("m")
    term = minimum_of([maximum_of([m - 1, AffineSum(-1)]), m + 4, AffineSum(16)])
    assert simplify_term(term, RANGES) == m - 1


def test_quotients():
    m = AffineSum.of_symbol("m")
    assert round_down_sum(m + 5, 4, 4, STEPS) == m + 4
    rounded = round_down_sum(m + 5, 8, 8, STEPS)
    assert [evaluate_term(rounded, {"m": m}) for m in (0, 4)] == [0, 8]


@pytest.mark.parametrize("seed", range(TERMS))
def test_ranges_of_solutions(seed: int):
    """One range contains all solutions, the other contains only solutions."""
    condition = draw_term(random.Random(seed))
    unknown = SteppedSymbol("k", STEPS)
    outer = range_containing_solutions(condition, unknown)
    inner = range_within_solutions(condition, unknown)
    for point in POINTS:
        inside = [not each.is_empty for each in (inner, outer)]
        for index, found in enumerate((inner, outer)):
            if found.first is not None:
                inside[index] &= bool(point["k"] >= evaluate_term(found.first, point))
            if found.end is not None:
                inside[index] &= bool(point["k"] < evaluate_term(found.end, point))
        holds = bool(evaluate_term(condition, point) >= 0)
        assert inside[0] <= holds <= inside[1]


@pytest.mark.parametrize("factor", [-2, -1, 1, 2])
@pytest.mark.parametrize("constant", range(-9, 10))
def test_ranges_of_inequalities_are_exact(factor: int, constant: int):
    """Both ranges of one inequality are its solutions."""
    unknown = SteppedSymbol("k", STEPS)
    condition = AffineSum(constant, (("k", factor), ("m", 1)))
    for solve in (range_containing_solutions, range_within_solutions):
        found = solve(condition, unknown)
        bound = found.first if found.end is None else found.end
        assert bound is not None
        for point in POINTS:
            limit = evaluate_term(bound, point)
            inside = point["k"] < limit if found.first is None else point["k"] >= limit
            assert inside == (constant + factor * point["k"] + point["m"] >= 0)
