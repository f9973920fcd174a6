"""Bound on what a group saves in parallel parts."""

from tlf.planner.split_bound import SplitBound


def test_parts_share_the_cycles_beyond_the_fixed_ones():
    bound = SplitBound(fixed_cycles=2000, divided_cycles=800, busy_cycles=50)
    assert [bound.max_cycles_saved(count) for count in (1, 2, 4)] == [0, 400, 600]


def test_no_number_of_parts_is_faster_than_a_busy_chip():
    assert SplitBound(2000, 800, 300).max_cycles_saved(1000) == 500
    assert SplitBound(2000, 800, 900).max_cycles_saved(1000) == 0
