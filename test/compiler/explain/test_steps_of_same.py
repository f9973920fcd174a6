"""Schedules are compared by what they run of the same operations."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tlf.compiler.explain.fusion_query import find_matching_steps


def schedule(groups: Sequence[int]) -> Any:
    steps = [SimpleNamespace(group=group) for group in groups]
    return SimpleNamespace(schedule=SimpleNamespace(steps=steps))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0b0011, 0b1100], [0b0001, 0b0010, 0b1100], ([0b0011], [0b0001, 0b0010])),
        ([0b0111, 0b1000], [0b0001, 0b1110], ([0b0111, 0b1000], [0b0001, 0b1110])),
        ([0b0001, 0b1110], [0b0001, 0b1110], ([0b0001], [0b0001])),
    ],
)
def test_steps(
    first: Sequence[int], second: Sequence[int], expected: Sequence[Sequence[int]]
):
    """Groups of one schedule that reach further take those of the other with them."""
    found = find_matching_steps(0b0001, schedule(first), schedule(second))

    assert tuple([step.group for step in steps] for steps in found) == expected
