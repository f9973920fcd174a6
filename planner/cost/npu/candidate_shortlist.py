"""
Search for tile sizes on an NPU, without IR: shortlist of the best candidates by
estimate.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tlf.planner.cost.npu.iterations_in_flight import IterationsInFlight

Sizes: TypeAlias = tuple[int, ...]
"""Tile sizes of the parallel axes, then of the reduction if it has a loop."""


@dataclass(frozen=True)
class TileCandidate:
    """Tile sizes and iterations in flight of a group, with their estimated cost."""

    tile_sizes: Sizes
    reduction_tile_sizes: Sizes
    stages: IterationsInFlight
    cycles: int
    moved_bytes: int


class Shortlist:
    """The best `count` candidates for each number of iterations in flight."""

    def __init__(
        self, in_flight_counts: Iterable[IterationsInFlight], count: int
    ) -> None:
        self._count = count
        self._best: dict[IterationsInFlight, list[TileCandidate]] = {
            each: [] for each in in_flight_counts
        }

    def __iter__(self) -> Iterator[TileCandidate]:
        for candidates in self._best.values():
            yield from candidates

    def add_candidate(self, candidate: TileCandidate) -> None:
        """Insert a candidate if it is one of the best so far."""
        known = self._best[candidate.stages]
        insort(known, candidate, key=rank_of_candidate)
        del known[self._count :]

    def is_full_of_faster(
        self, in_flight_counts: IterationsInFlight, cycles: float
    ) -> bool:
        """
        Return `True` if there are as many candidates faster than `cycles` as the list
        holds, with some iterations in flight.
        """
        known = self._best[in_flight_counts]
        return len(known) == self._count and known[-1].cycles < cycles


def rank_of_candidate(candidate: TileCandidate) -> tuple[int, int]:
    """Return the sort key of candidates: cycles, then bytes."""
    return candidate.cycles, candidate.moved_bytes
