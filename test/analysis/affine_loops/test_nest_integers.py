"""Integers within bounds that satisfy inequalities, against trying all of them."""

import random
from itertools import product

import pytest

from tlf.analysis.affine_loops.integer_solver import (
    UNBOUNDED,
    Constraint,
    Domains,
    UndecidedError,
    find_solution,
)
from tlf.support.affine.index_access import AffineSum

NAMES = "ijkl"


def form(generator: random.Random, names: str) -> AffineSum:
    """A random linear form."""
    total = AffineSum(generator.randint(-4, 4))
    for name in names:
        total += AffineSum.of_symbol(name) * generator.choice(
            [0, 0, 1, 1, -1, 2, -3, 4, 6]
        )
    return total


def value(of: AffineSum, point: dict[str, int]) -> int:
    """Return the value of a form at a point."""
    return of.substitute({key: AffineSum(each) for key, each in point.items()}).constant


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(200))
def test_agrees_with_trying_all(seed: int):
    generator = random.Random(seed)
    names = NAMES[: generator.randint(1, 4)]
    bounds: Domains = {
        name: (low := generator.randint(-3, 2), low + generator.randint(-1, 5))
        for name in names
    }
    constraints = [
        Constraint(
            form(generator, names),
            low := generator.randint(-6, 6),
            low + generator.randint(-1, 4),
        )
        for _ in range(generator.randint(0, 4))
    ]
    points = (
        dict(zip(names, each, strict=True))
        for each in product(*(range(low, high + 1) for low, high in bounds.values()))
    )

    def satisfies(point: dict[str, int]) -> bool:
        return all(
            each.low <= value(each.affine_sum, point) <= each.high
            for each in constraints
        )

    found = find_solution(bounds, constraints)

    assert (found is not None) == any(map(satisfies, points))
    if found is not None:
        assert satisfies({name: found[name] for name in names})
        assert all(low <= found[name] <= high for name, (low, high) in bounds.items())


def test_far_variables_that_contradict():
    """A contradiction that bounds alone approach in small steps is found at once."""
    i, j = AffineSum.of_symbol("i"), AffineSum.of_symbol("j")
    domains: Domains = {"i": (-UNBOUNDED, UNBOUNDED), "j": (-UNBOUNDED, UNBOUNDED)}

    assert (
        find_solution(
            domains, [Constraint(i - j, 1, UNBOUNDED), Constraint(j - i, 0, UNBOUNDED)]
        )
        is None
    )
    assert find_solution(domains, [Constraint(i * 2 - j * 4, 1, 1)]) is None


def test_undecided():
    """No bound tells that twice the sum of integers is never odd."""
    i, j, k = (AffineSum.of_symbol(name) for name in "ijk")
    domains: Domains = {name: (-UNBOUNDED, UNBOUNDED) for name in "ijk"}
    constraints = [Constraint(i - j + k * 2, 0, 0), Constraint(i + j, 1, 1)]

    with pytest.raises(UndecidedError):
        find_solution(domains, constraints)
