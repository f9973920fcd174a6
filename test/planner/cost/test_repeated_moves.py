"""Numbers of moves of the factors of a product to an inner level."""

import random
from itertools import product
from math import ceil

import pytest

from tlf.planner.cost.npu.outer_model import factor_load_counts


@pytest.mark.parametrize(
    ("left", "right", "sums", "times"),
    [
        (100, 900, 900, (1, 1)),
        (900, 100, 900, (1, 1)),
        (900, 900, 100, (1, 1)),
        # Blocks of the smaller factor stay, while the larger one passes.
        (200, 10_000, 10_000, (1, 2)),
        (10_000, 200, 10_000, (2, 1)),
        # 16 blocks of sums, in 4 rows of 4.
        (10_000, 10_000, 1_600, (4, 4)),
    ],
)
def test_what_has_room_is_moved_once(
    left: int, right: int, sums: int, times: tuple[int, int]
):
    assert factor_load_counts(left, right, sums, 100) == times


def test_no_way_in_a_grid_moves_less():
    """Up to the powers of two, which take twice as much at most."""
    generator = random.Random(0)
    for _ in range(300):
        left, right, sums = (generator.randrange(1, 5000) for _ in range(3))
        times = factor_load_counts(left, right, sums, 100)
        blocks = ceil(sums / 100)
        grids = product(range(1, blocks + 1), repeat=2)
        ways = [each for each in grids if each[0] * each[1] >= blocks]
        ways += [(1, ceil(left / 100)), (ceil(right / 100), 1)]
        least = min(first * left + second * right for first, second in ways)
        moved = times[0] * left + times[1] * right
        assert least <= moved <= 2 * least


def test_more_room_moves_no_more():
    generator = random.Random(1)
    for _ in range(300):
        left, right, sums = (generator.randrange(1, 5000) for _ in range(3))
        moved = [
            first * left + second * right
            for first, second in (
                factor_load_counts(left, right, sums, room)
                for room in (50, 100, 200, 400)
            )
        ]
        assert moved == sorted(moved, reverse=True)
