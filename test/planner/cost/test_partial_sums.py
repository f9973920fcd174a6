"""Splits of long sums into partial sums."""

import pytest

from tlf.planner.cost.partial_sums import PartialSums, select_partial_sums
from tlf.planner.settings.summation_bounds import SUMMATION

MOST = SUMMATION.max_sequential_additions


def test_short_sums_are_not_split():
    assert select_partial_sums([MOST // 32], 32) is None
    assert select_partial_sums([4, MOST // 4], 1) is None


def test_a_single_iteration_is_not_split():
    assert select_partial_sums([1], 2 * MOST) is None


def test_parts_divide_the_iterations_where_they_can():
    assert select_partial_sums([2 * MOST // 32], 32) == PartialSums(0, MOST // 32)
    assert select_partial_sums([3 * MOST // 64], 32) == PartialSums(0, 3 * MOST // 128)


def test_other_iterations_become_parts_of_nearly_equal_size():
    # 257 is prime.
    split = select_partial_sums([257], MOST // 128)
    assert split == PartialSums(0, 86)


@pytest.mark.parametrize(
    ("trips", "depth", "iterations"),
    [
        ([8, 4, MOST // 32], 1, 2),
        ([8, MOST // 32], 0, 2),
        ([2, 3 * MOST // 16], 1, MOST // 16),
    ],
)
def test_the_outermost_loop_with_short_enough_iterations_is_split(
    trips: list[int], depth: int, iterations: int
):
    assert select_partial_sums(trips, 16) == PartialSums(depth, iterations)


@pytest.mark.parametrize("trips", range(2, 400, 7))
def test_no_partial_sum_exceeds_the_bound(trips: int):
    each = 2 * MOST // trips
    split = select_partial_sums([trips], each)
    if split is None:
        assert trips * each <= MOST
    else:
        assert split.iterations == 1 or split.iterations * each <= MOST
        assert split.iterations < trips
