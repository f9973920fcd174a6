"""The best few of many choices of tiles."""

from random import Random

import pytest

from tlf.planner.cost.npu.candidate_shortlist import (
    Shortlist,
    TileCandidate,
    rank_of_candidate,
)
from tlf.planner.cost.npu.iterations_in_flight import SINGLE, IterationsInFlight

KINDS = (SINGLE, IterationsInFlight(2, 2))


@pytest.mark.parametrize("seed", range(8))
def test_the_best_few_of_each_kind_are_kept(seed: int):
    random = Random(seed)
    choices = [
        TileCandidate(
            (n,), (), random.choice(KINDS), random.randint(1, 9), random.randint(1, 9)
        )
        for n in range(random.randint(1, 40))
    ]

    shortlist = Shortlist(KINDS, 3)
    for each in choices:
        shortlist.add_candidate(each)

    of_kinds = [[e for e in choices if e.stages == kind] for kind in KINDS]
    assert [*shortlist] == [
        e for kind in of_kinds for e in sorted(kind, key=rank_of_candidate)[:3]
    ]


def is_too_slow(shortlist: Shortlist, cycles: int) -> bool:
    return all(shortlist.is_full_of_faster(each, cycles) for each in KINDS)


def test_nothing_beats_what_is_not_full_or_no_better():
    shortlist = Shortlist(KINDS, 1)
    assert not is_too_slow(shortlist, 10**9)
    shortlist.add_candidate(TileCandidate((1,), (), KINDS[0], 5, 1))
    assert not is_too_slow(shortlist, 10**9)
    shortlist.add_candidate(TileCandidate((1,), (), KINDS[1], 7, 1))
    assert is_too_slow(shortlist, 8)
    assert not is_too_slow(shortlist, 7)
    assert not is_too_slow(shortlist, 6)
