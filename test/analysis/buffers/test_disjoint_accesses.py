"""Boxes that iterations take in turn, held against all of their elements."""

from collections.abc import Sequence
from itertools import combinations, product
from random import Random

import pytest

from tlf.analysis.buffers.box_disjointness import is_disjoint_across_iterations


def elements(starts: Sequence[int], box: Sequence[int]) -> set[tuple[int, ...]]:
    """The elements of a box."""
    axes = [range(start, start + size) for start, size in zip(starts, box, strict=True)]
    return set(product(*axes))


def are_apart(columns: Sequence[Sequence[int]], box: Sequence[int]) -> bool:
    """Return `True` if the boxes are pairwise disjoint."""
    boxes = [elements(starts, box) for starts in zip(*columns, strict=True)]
    return not any(one & other for one, other in combinations(boxes, 2))


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(200))
def test_random_boxes(seed: int) -> None:
    random = Random(seed)
    axes, count = random.randint(1, 3), random.randint(2, 5)
    box = [random.randint(1, 3) for _ in range(axes)]
    columns = [
        [random.choice([1, size]) * random.randint(0, 4) for _ in range(count)]
        for size in box
    ]
    if is_disjoint_across_iterations(columns, box):
        assert are_apart(columns, box)


@pytest.mark.parametrize("counts", [(3, 4), (1, 5), (2, 2, 3)])
def test_boxes_side_by_side(counts: Sequence[int]) -> None:
    """A nest over tiles, whatever the last ones leave out."""
    box = [5, 3, 2][: len(counts)]
    places = product(*map(range, counts))
    columns = list(zip(*places, strict=True))
    starts = [
        [at * size for at in column] for column, size in zip(columns, box, strict=True)
    ]
    assert is_disjoint_across_iterations(starts, box)


@pytest.mark.parametrize(
    ("columns", "box"),
    [
        ([[0, 2, 4]], [3]),
        ([[0, 3, 0]], [3]),
        ([[0, 0, 0]], [3]),
        ([None], [3]),
        ([[0, 0, 3, 3], [0, 2, 0, 0]], [3, 2]),
    ],
    ids=["overlapping", "again", "the same", "unknown", "twice the last one"],
)
def test_others_are_not(columns: Sequence[Sequence[int] | None], box: list[int]):
    assert not is_disjoint_across_iterations(columns, box)


def test_an_unknown_axis_does_not_matter() -> None:
    assert is_disjoint_across_iterations([None, [0, 4, 8]], [7, 4])
