"""Placement of temporaries: what is live at the same time is disjoint."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random

import pytest

from tlf.lowering.mem_to_triton.temporary_placement import place_temporaries


def accesses(*names: str) -> Sequence[frozenset[str]]:
    return [frozenset(each.split()) for each in names]


def test_dead_temporaries_make_room():
    layout = place_temporaries(
        {"a": 1000, "b": 1000, "c": 1000}, accesses("x a", "a b", "b c", "c y")
    )
    assert layout.size == 1024 + 1000
    assert layout.offsets["a"] == layout.offsets["c"] != layout.offsets["b"]


def test_temporaries_between_their_steps_are_kept():
    layout = place_temporaries({"a": 256, "b": 256}, accesses("a", "b", "a"))
    assert sorted(layout.offsets.values()) == [0, 256]


def test_no_temporaries_and_unused_ones():
    assert place_temporaries({}, accesses("x")).size == 0
    assert place_temporaries({"a": 8}, accesses("x")).offsets == {"a": 0}


def live_ranges(
    sizes: Mapping[str, int], steps: Sequence[frozenset[str]]
) -> Mapping[str, range]:
    found = {
        name: [at for at, each in enumerate(steps) if name in each] for name in sizes
    }
    return {name: range(each[0], each[-1] + 1) for name, each in found.items() if each}


@pytest.mark.parametrize("seed", range(20))
def test_live_temporaries_are_disjoint(seed: int):
    random = Random(seed)
    sizes = {
        f"t{at}": random.randrange(0, 5000) for at in range(random.randrange(1, 30))
    }
    names = sorted(sizes)
    steps = [frozenset(random.sample(names, min(3, len(names)))) for _ in range(25)]

    layout = place_temporaries(sizes, steps)

    ranges = live_ranges(sizes, steps)
    for one, other in combinations(ranges, 2):
        if set(ranges[one]) & set(ranges[other]):
            low, high = sorted((one, other), key=layout.offsets.__getitem__)
            assert layout.offsets[low] + sizes[low] <= layout.offsets[high]
    assert all(layout.offsets[each] + sizes[each] <= layout.size for each in sizes)
    assert all(each % 256 == 0 for each in layout.offsets.values())
