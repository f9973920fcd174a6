"""Accesses over the digits of indices, against enumeration of all elements."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from random_windows import random_windows

from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import IndexAccess

SEEDS = range(60)


def digits_of(access: DelinearizedAccess, at: Sequence[int]) -> Iterator[int]:
    """Yield the digits of indices, by successive division."""
    for index, extents in zip(at, access.basis, strict=True):
        rest = prod(extents)
        for extent in extents:
            rest //= extent
            digit, index = divmod(index, rest)
            yield digit


def place_of(access: DelinearizedAccess, at: Sequence[int]) -> tuple[int, ...]:
    """Return the position in the source that indices read."""
    digits = [*digits_of(access, at)]
    return tuple(
        each.offset + sum(digits[n] * factor for n, factor in each.terms)
        for each in access.accesses
    )


def is_inside(place: Sequence[int], shape: Sequence[int]) -> bool:
    return all(0 <= p < extent for p, extent in zip(place, shape, strict=True))


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_elements_are_read_at_the_digits(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator)
    access, shape = windows.access, windows.source
    source = np.random.default_rng(seed).integers(0, 1000, shape)
    starts = [generator.randrange(extent) for extent in access.shape]
    sizes = [generator.randint(1, 4) for _ in starts]
    box = access.gather_elements(source, starts, sizes, -1)
    assert box.shape == tuple(sizes)
    for at in np.ndindex(*sizes):
        index = [start + n for start, n in zip(starts, at, strict=True)]
        place = place_of(access, index)
        is_read = is_inside(index, access.shape) and is_inside(place, shape)
        assert box[at] == (source[place] if is_read else -1)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds(seed: int):
    windows = random_windows(random.Random(seed))
    access, shape = windows.access, windows.source
    places = (place_of(access, at) for at in np.ndindex(*access.shape))
    leaves = any(not is_inside(place, shape) for place in places)
    assert access.reads_out_of_bounds(shape) == leaves


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_spans_count_the_digits_of_aligned_tiles(seed: int):
    generator = random.Random(seed)
    access = random_windows(generator).access
    tile = [2 ** generator.randint(0, 6) for _ in access.shape]
    spans = access.digit_spans(tile)
    most = [0] * len(spans)
    for position, digit in enumerate(access.digits):
        size, extent = tile[digit.axis], access.shape[digit.axis]
        for start in range(0, extent, size):
            indices = range(start, min(start + size, extent))
            values = {index // digit.stride % digit.extent for index in indices}
            most[position] = max(most[position], len(values))
    for digit, count, span in zip(access.digits, most, spans, strict=True):
        size = tile[digit.axis]
        assert count <= span <= digit.extent
        if digit.stride % size == 0 or size % digit.stride == 0:
            assert count == span


ORDERS = {
    "whole": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "shifted": ((1, 0, 0), (0, 1, 1), (0, 0, 1)),
    "swapped": ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    "repeated": ((1, 0, 0), (0, 1, 0), (0, 0, 0)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("split", [(0, 1, 3), (0, 3), (0, 2, 3)])
@pytest.mark.parametrize("extents", [(2, 3, 4), (2, 2, 2), (1, 3, 1), (3, 1, 4)])
@pytest.mark.parametrize("offset", [0, 1])
def test_row_major_order(
    order: str, split: tuple[int, ...], extents: tuple[int, ...], offset: int
):
    accesses = tuple(
        IndexAccess(tuple((n, c) for n, c in enumerate(row) if c), offset)
        for row in ORDERS[order]
    )
    basis = tuple(extents[low:high] for low, high in pairwise(split))
    access = DelinearizedAccess(accesses, basis)
    for shape in product((1, 2, 3), (1, 2, 3), (1, 2, 4)):
        source = np.arange(prod(shape)).reshape(shape)
        starts = [0] * len(basis)
        read = access.gather_elements(source, starts, access.shape, -1)
        same = read.size == source.size and np.array_equal(read.ravel(), source.ravel())
        assert access.is_row_major(shape) == same


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_elements_keep_their_order_under_another_shape(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator)
    access, rest = windows.access, prod(windows.access.shape)
    shape: list[int] = []
    while rest > 1 and len(shape) < 4:
        divisors = [n for n in range(1, rest + 1) if rest % n == 0]
        shape.append(generator.choice(divisors))
        rest //= shape[-1]
    shape.append(rest)
    if (reshaped := access.reshape_value(shape)) is None:
        return
    source = np.random.default_rng(seed).integers(0, 1000, windows.source)
    assert reshaped.shape == tuple(shape)
    before, after = (
        each.gather_elements(source, [0] * len(each.shape), each.shape, -1)
        for each in (access, reshaped)
    )
    assert np.array_equal(before.reshape(shape), after)


COLUMNS = DelinearizedAccess(
    (IndexAccess(((0, 1), (1, 1))), IndexAccess.of_iterator(2)), ((7,), (3, 8))
)


@pytest.mark.parametrize(
    ("shape", "basis"),
    [
        ((7, 24), ((7,), (3, 8))),
        ((168,), ((7, 3, 8),)),
        ((7, 3, 8), ((7,), (3,), (8,))),
        ((7, 6, 4), ((7,), (3, 2), (4,))),
        ((7, 12, 1, 2), ((7,), (3, 4), (1,), (2,))),
        ((7, 2, 12), None),
        ((7, 4, 6), None),
        ((14, 12), None),
    ],
)
def test_digits_divide_between_axes(
    shape: tuple[int, ...], basis: tuple[tuple[int, ...], ...] | None
):
    reshaped = COLUMNS.reshape_value(shape)
    assert (reshaped and reshaped.basis) == basis


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", SEEDS)
def test_merged_digits_read_the_same(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator)
    access = windows.access
    merged = access.merge_digits()
    assert merged.merge_digits() == merged
    assert merged.shape == access.shape
    assert all(1 not in extents or len(extents) == 1 for extents in merged.basis)
    source = np.random.default_rng(seed).integers(0, 1000, windows.source)
    before, after = (
        each.gather_elements(source, [0] * len(each.shape), each.shape, -1)
        for each in (access, merged)
    )
    assert np.array_equal(before, after)


def test_digits_at_equal_distances_are_one():
    accesses = IndexAccess(((0, 4), (2, 2), (3, 1)), 5), IndexAccess(((4, 1),))
    access = DelinearizedAccess(accesses, ((3, 1, 2, 2), (2,)))
    merged = IndexAccess(((0, 1),), 5), IndexAccess(((1, 1),))
    assert access.merge_digits() == DelinearizedAccess(merged, ((12,), (2,)))
