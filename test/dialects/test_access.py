"""Affine accesses, against enumeration."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.random import Generator

from tlf.support.affine.index_access import (
    Accesses,
    AffineSum,
    Box,
    IndexAccess,
    Interval,
    accessed_box,
    identity_accesses,
    producing_iterations,
)

SYMBOLS = ("a", "b", "c")
Values = Mapping[Hashable, int]


@pytest.fixture(params=range(40))
def rng(request: pytest.FixtureRequest) -> Generator:
    """A generator for each round."""
    return np.random.default_rng(request.param)


def evaluate(linear: AffineSum, values: Values) -> int:
    return linear.constant + sum(values[s] * factor for s, factor in linear.terms)


def some_linear(rng: Generator) -> AffineSum:
    total = AffineSum(int(rng.integers(-9, 9)))
    for symbol in rng.permutation(SYMBOLS)[: rng.integers(len(SYMBOLS) + 1)]:
        total += AffineSum.of_symbol(str(symbol)) * int(rng.integers(-4, 5))
    return total


def some_values(rng: Generator) -> Values:
    return {symbol: int(rng.integers(-9, 10)) for symbol in SYMBOLS}


def points(box: Box, values: Values) -> Iterator[tuple[int, ...]]:
    """Every point of a box, for some values of the symbols."""
    starts = [evaluate(each.offset, values) for each in box]
    ranges = [
        range(start, start + each.size) for start, each in zip(starts, box, strict=True)
    ]
    return product(*ranges)


def touched(accesses: Accesses, point: Sequence[int]) -> set[tuple[int, ...]]:
    """The elements that one iteration touches."""
    axes: list[range] = []
    for access in accesses:
        first = access.offset + sum(point[at] * by for at, by in access.terms)
        axes.append(range(first, first + access.width))
    return set(product(*axes))


def test_linear_arithmetic(rng: Generator):
    left, right, factor = some_linear(rng), some_linear(rng), int(rng.integers(-4, 5))
    values = some_values(rng)
    a, b = evaluate(left, values), evaluate(right, values)
    assert evaluate(left + right, values) == a + b
    assert evaluate(left + factor, values) == a + factor
    assert evaluate(left - right, values) == a - b
    assert evaluate(left * factor, values) == a * factor
    assert left - left == AffineSum()
    assert (left + right) - (right + left) == AffineSum()


def test_linear_division_is_exact_or_none(rng: Generator):
    linear, divisor = some_linear(rng), int(rng.integers(1, 5))
    quotient = linear.divide_exactly(divisor)
    parts = [linear.constant, *(factor for _, factor in linear.terms)]
    assert (quotient is None) == any(part % divisor for part in parts)
    if quotient is not None:
        assert quotient * divisor == linear
    assert (linear * divisor).divide_exactly(divisor) == linear


def test_linear_substitution(rng: Generator):
    linear, replacement = some_linear(rng), some_linear(rng)
    values = some_values(rng)
    inner = dict(values) | {"a": evaluate(replacement, values)}
    found = linear.substitute({"a": replacement})
    assert evaluate(found, values) == evaluate(linear, inner)


def test_linear_bounds_are_reached(rng: Generator):
    linear = some_linear(rng)
    ranges: dict[Hashable, tuple[int, int]] = {}
    for symbol in SYMBOLS:
        low = int(rng.integers(-5, 5))
        ranges[symbol] = (low, low + int(rng.integers(0, 5)))
    found = [
        evaluate(linear, dict(zip(SYMBOLS, point, strict=True)))
        for point in product(*(range(lo, hi + 1) for lo, hi in ranges.values()))
    ]
    assert linear.value_bounds(ranges) == (min(found), max(found))


def test_hull_is_the_least_interval_over_both(rng: Generator):
    offset, values = some_linear(rng), some_values(rng)
    left = Interval(offset, int(rng.integers(1, 6)), int(rng.integers(0, 9)))
    distance = int(rng.integers(-7, 8))
    right = Interval(offset + distance, int(rng.integers(1, 6)))
    hull = left.hull(right)
    assert hull is not None
    both = {*points((left,), values), *points((right,), values)}
    ends = {each for (each,) in both}
    assert evaluate(hull.offset, values) == min(ends)
    assert hull.size == max(ends) - min(ends) + 1
    assert hull.capacity == left.capacity
    assert hull == right.hull(left)


def test_no_hull_where_the_distance_varies():
    left, right = (
        Interval(AffineSum.of_symbol("a"), 4),
        Interval(AffineSum.of_symbol("a") * 2, 4),
    )
    assert left.hull(right) is None
    assert left.hull(Interval.whole(4)) is None


def test_the_room_of_an_interval():
    assert Interval.whole(5).tile_extent == 5
    assert Interval(AffineSum(), 5, 8).tile_extent == 8
    assert Interval(AffineSum(), 5, 4).tile_extent == 5


def some_access(rng: Generator, rank: int) -> IndexAccess:
    used = rng.permutation(rank)[: rng.integers(rank + 1)]
    terms = tuple((int(each), int(rng.integers(1, 4))) for each in used)
    return IndexAccess(terms, int(rng.integers(-3, 4)), int(rng.integers(1, 4)))


def some_box(rng: Generator, rank: int) -> Box:
    sizes = [int(size) for size in rng.integers(1, 4, rank)]
    rooms = [int(room) for room in rng.integers(0, 6, rank)]
    return tuple(
        Interval(some_linear(rng), size, room if room > size else 0)
        for size, room in zip(sizes, rooms, strict=True)
    )


def test_a_region_is_the_least_box_over_what_iterations_touch(rng: Generator):
    rank, values = int(rng.integers(1, 4)), some_values(rng)
    accesses = tuple(some_access(rng, rank) for _ in range(rng.integers(1, 3)))
    box = some_box(rng, rank)
    every = [p for it in points(box, values) for p in touched(accesses, it)]
    for axis, interval in enumerate(accessed_box(accesses, box)):
        indices = {point[axis] for point in every}
        first = evaluate(interval.offset, values)
        assert (first, first + interval.size - 1) == (min(indices), max(indices))


def test_a_region_has_room_for_what_the_room_of_iterations_touches(rng: Generator):
    rank = int(rng.integers(1, 4))
    accesses = tuple(some_access(rng, rank) for _ in range(2))
    box = some_box(rng, rank)
    full = tuple(replace(each, size=each.tile_extent, capacity=0) for each in box)
    rooms = [interval.tile_extent for interval in accessed_box(accesses, box)]
    assert rooms == [interval.size for interval in accessed_box(accesses, full)]


def test_uses():
    access = IndexAccess(((0, 2), (3, 1)), 5)
    assert access.depends_on({3, 7})
    assert not access.depends_on({1, 2})
    assert not IndexAccess().depends_on({0})


def some_result(rng: Generator) -> tuple[Accesses, list[int]]:
    """
    The accesses of a result and the extents of the iterators. Each axis counts one to
    three iterators of its own, as the digits of a number; some iterators move nothing.
    A digit that only ever is 0 stands alone.
    """
    extents: list[int] = []
    accesses: list[IndexAccess] = []
    for _ in range(rng.integers(1, 3)):
        width = int(rng.integers(1, 3))
        step, terms = width, list[tuple[int, int]]()
        digits = int(rng.integers(1, 4))
        for _ in range(digits):
            terms.append((len(extents), step))
            extents.append(int(rng.integers(1 if digits == 1 else 2, 4)))
            step *= extents[-1]
        rng.shuffle(terms)
        accesses.append(IndexAccess(tuple(terms), int(rng.integers(-2, 3)), width))
        if rng.random() < 0.3:
            extents.append(int(rng.integers(1, 3)))
    return tuple(accesses), extents


def some_wanted(rng: Generator, whole: Box) -> Box:
    """A box within `whole`, with offsets that depend on symbols, at values of 1."""
    wanted: list[Interval] = []
    for interval in whole:
        size = int(rng.integers(1, interval.size + 1))
        first = interval.offset.constant
        first += int(rng.integers(0, interval.size - size + 1))
        offset = AffineSum(first)
        for symbol in SYMBOLS[: rng.integers(0, 3)]:
            factor = int(rng.integers(1, 7))
            offset += AffineSum.of_symbol(symbol) * factor - factor
        wanted.append(Interval(offset, size))
    return tuple(wanted)


def test_iterations_compute_all_that_is_wanted(rng: Generator):
    values: Values = dict.fromkeys(SYMBOLS, 1)
    for _ in range(20):
        accesses, extents = some_result(rng)
        domain = tuple(Interval.whole(extent) for extent in extents)
        wanted = some_wanted(rng, accessed_box(accesses, domain))
        elements = set(points(wanted, values))
        found = set(points(producing_iterations(accesses, extents, wanted), values))
        needed = {
            point
            for point in points(domain, values)
            if touched(accesses, point) & elements
        }
        assert needed <= found <= set(points(domain, values))


def test_iterations_are_no_more_than_needed_where_wanted_is_aligned(rng: Generator):
    """Of the last digit only whole steps, of others everything, are asked for."""
    accesses, extents = some_result(rng)
    box = [Interval.whole(extent) for extent in extents]
    for access in accesses:
        first, _ = max(access.terms, key=lambda term: term[1])
        size = int(rng.integers(1, extents[first] + 1))
        box[first] = Interval(AffineSum.of_symbol("a") * int(rng.integers(3)) + 1, size)
    wanted = accessed_box(accesses, tuple(box))
    assert producing_iterations(accesses, extents, wanted) == tuple(box)


def test_iterations_invert_strides_and_offsets():
    accesses = (IndexAccess(((0, 1),), -1), IndexAccess(((1, 3),), 2, 3))
    wanted = (
        Interval(AffineSum.of_symbol("a") * 4 - 1, 4),
        Interval(AffineSum(5), 6, 12),
    )
    found = producing_iterations(accesses, (9, 5), wanted)
    expected = Interval(AffineSum.of_symbol("a") * 4, 4), Interval(AffineSum(1), 2, 4)
    assert found == expected


def test_identity():
    assert identity_accesses(2) == (
        IndexAccess.of_iterator(0),
        IndexAccess.of_iterator(1),
    )
    assert identity_accesses(0) == ()
    box = (Interval(AffineSum.of_symbol("a"), 4, 8), Interval.whole(3))
    assert accessed_box(identity_accesses(2), box) == box
    assert producing_iterations(identity_accesses(2), (9, 3), box) == box


def test_access_by_indices_is_anywhere_on_its_axis():
    access = IndexAccess.indirect(1, 9)
    assert access.index == 1
    box = (Interval(AffineSum.of_symbol("a"), 4), Interval(AffineSum(2), 3))
    accesses = (access, IndexAccess.of_iterator(1))
    assert accessed_box(accesses, box) == (Interval.whole(9), box[1])
