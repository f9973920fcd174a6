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
        {"a": 1000, "b": 1000, "c": 1000}, accesses("x a", "a b", "b c", "c y"), {}
    )
    assert layout.size == 1024 + 1000
    assert layout.offsets["a"] == layout.offsets["c"] != layout.offsets["b"]


def test_temporaries_between_their_steps_are_kept():
    layout = place_temporaries({"a": 256, "b": 256}, accesses("a", "b", "a"), {})
    assert sorted(layout.offsets.values()) == [0, 256]


def test_no_temporaries_and_unused_ones():
    assert place_temporaries({}, accesses("x"), {"y": 8}).size == 0
    assert place_temporaries({"a": 8}, accesses("x"), {}).offsets == {"a": 0}


def test_temporaries_that_are_dead_before_a_result_is_written_are_in_it():
    steps = accesses("x a", "a b", "b c", "c y")
    layout = place_temporaries({"a": 8, "b": 8, "c": 8}, steps, {"y": 1000})
    assert layout.results == {"a": "y", "b": "y"}
    assert layout.offsets["a"] != layout.offsets["b"]
    assert layout.size == 8


def test_results_that_are_too_small_contain_nothing():
    steps = accesses("x a", "a b", "b y")
    assert not place_temporaries({"a": 9, "b": 9}, steps, {"y": 8}).results


def test_only_temporaries_of_the_peak_are_in_results():
    steps = accesses("a", "b", "c", "y")
    layout = place_temporaries({"a": 8, "b": 64, "c": 32}, steps, {"y": 64})
    assert layout.results == {"b": "y", "c": "y", "a": "y"}
    layout = place_temporaries({"a": 8, "b": 64, "c": 32}, steps, {"y": 32})
    assert not layout.results


def live_ranges(
    sizes: Mapping[str, int], steps: Sequence[frozenset[str]]
) -> Mapping[str, range]:
    found = {
        name: [at for at, each in enumerate(steps) if name in each] for name in sizes
    }
    return {name: range(each[0], each[-1] + 1) for name, each in found.items() if each}


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(20))
def test_live_temporaries_are_disjoint(seed: int):
    random = Random(seed)
    sizes = {
        f"t{at}": random.randrange(0, 5000) for at in range(random.randrange(1, 30))
    }
    results = {f"y{at}": random.randrange(0, 9000) for at in range(3)}
    names = sorted(sizes)
    steps = [frozenset(random.sample(names, min(3, len(names)))) for _ in range(25)]
    for number, name in enumerate(results):
        steps[24 - 4 * number] |= {name}

    layout = place_temporaries(sizes, steps, results)

    ranges = live_ranges({**sizes, **results}, steps)
    for one, other in combinations(ranges.keys() & sizes.keys(), 2):
        is_shared = layout.results.get(one) == layout.results.get(other)
        if is_shared and set(ranges[one]) & set(ranges[other]):
            low, high = sorted((one, other), key=layout.offsets.__getitem__)
            assert layout.offsets[low] + sizes[low] <= layout.offsets[high]
    for name, size in sizes.items():
        result = layout.results.get(name)
        assert result is None or ranges[name][-1] < ranges[result][0]
        capacity = layout.size if result is None else results[result]
        assert layout.offsets[name] + size <= capacity
    assert all(each % 256 == 0 for each in layout.offsets.values())
