"""Selection of the number of parts of a split reduction."""

from tlf.passes.graph.split_reductions.split_counts import select_best_count

COUNTS = [2, 4, 9, 18, 36, 72]


def select(saved: dict[int, int], start: int = 36, total: int = 10_000) -> int | None:
    return select_best_count(COUNTS, start, lambda n: saved.get(n, -100), total)


def test_the_best_count_is_found_behind_a_worse_one():
    assert select({36: 1445, 18: 1200, 9: 5970}) == 9


def test_no_count_is_selected_that_saves_nothing():
    assert select({36: -5}) is None
    assert select({36: 0}) is None


def test_a_start_that_loses_much_ends_the_search():
    assert select({36: -2000, 9: 5970}) is None


def test_counts_far_from_the_start_are_not_evaluated():
    assert select({2: 9000, 36: 10}) == 36


def test_without_counts_there_is_none():
    assert select_best_count([], 4, lambda n: n, 100) is None
