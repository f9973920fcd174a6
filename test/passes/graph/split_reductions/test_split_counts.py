"""Selection of the number of parts of a split reduction."""

from math import inf

from tlf.passes.graph.split_reductions.split_counts import select_best_count

COUNTS = [2, 4, 9, 18, 36, 72]


def select(saved: dict[int, int], start: int = 36, total: int = 10_000) -> int | None:
    return select_best_count(
        COUNTS, start, lambda n: saved.get(n, -100), lambda _: inf, total
    )


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
    assert select_best_count([], 4, lambda n: n, lambda _: inf, 100) is None


def test_counts_are_evaluated_only_if_they_may_save_more():
    evaluated = list[int]()

    def saved(count: int) -> int:
        evaluated.append(count)
        return {36: 500, 18: 100, 9: 900}.get(count, 0)

    def most(count: int) -> int:
        return {36: 600, 18: 550, 72: 500, 9: 900, 4: 900}[count]

    assert select_best_count(COUNTS, 36, saved, most, 10_000) == 9
    assert list(dict.fromkeys(evaluated)) == [36, 18, 9]


def test_a_start_whose_bound_loses_much_is_not_evaluated():
    def fail(count: int) -> int:
        raise AssertionError(count)

    assert select_best_count(COUNTS, 36, fail, lambda _: -2000, 10_000) is None
