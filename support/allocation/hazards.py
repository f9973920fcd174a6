"""
Pipeline hazards: engines that stall because buffers share bytes.

Instructions go through the engines in one direction: loads, products, operations by
element, stores. Each engine goes on in the program as far as it can. One that touches a
buffer for the first time has to wait for the last one that touched what lay on its
bytes before. That takes time if the latter is further down the pipeline: the more, the
further it is, and the closer both are in the program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tlf.support.allocation.lifetime_extension import Loops

REACH = 8
"""First and last uses of so many other buffers in between leave time enough."""

REPEATED = 4
"""About how much more often than the code around it a loop runs its body."""


@dataclass(frozen=True)
class Use:
    """From where to where a buffer is used."""

    first: int
    """The step of the first instruction that touches it."""
    last: int
    entry: int
    """Pipeline stage of the engine of the first one; see `engine_stage`."""
    exit: int
    """That of the last one."""
    loops: Loops = ()
    """The steps [start, end) of the loops around the buffer, outermost first."""


def engine_stage(levels: int, move: tuple[int, int] | None, *, product: bool) -> int:
    """
    Return how far down the pipeline of a machine with so many memory levels the engine
    of an instruction is: of a move between two of them, 0 being the nearest, of a
    product, or else of an operation by element.
    """
    if move is None:
        return levels if product else levels + 1
    source, destination = move
    return levels - 1 - source if source > destination else levels + 2 + source


Hazards: TypeAlias = Sequence[Mapping[int, int]]
"""For each buffer, by number, those it had better share no bytes with, and how much."""


def find_hazards(uses: Sequence[Use], together: Sequence[Collection[int]]) -> Hazards:
    """
    Return the hazards among buffers that are not live `together` anyway.
    """
    return _HazardFinder(uses, together).find()


class _HazardFinder:
    """Finds hazards; uses are counted in first and last ones instead of steps."""

    def __init__(
        self, uses: Sequence[Use], together: Sequence[Collection[int]]
    ) -> None:
        self.uses = uses
        self.together = together
        self.events = sorted({step for use in uses for step in (use.first, use.last)})
        self.starting: dict[int, list[int]] = {}
        for number, use in enumerate(uses):
            self.starting.setdefault(self._event_rank(use.first), []).append(number)

    def find(self) -> Hazards:
        found: list[dict[int, int]] = [{} for _ in self.uses]
        for number in range(len(self.uses)):
            for other, distance in self._next_uses(number).items():
                if cost := self._hazard_cost(number, other, distance):
                    found[number][other] = found[number].get(other, 0) + cost
                    found[other][number] = found[other].get(number, 0) + cost
        return found

    def _event_rank(self, step: int) -> int:
        return bisect_left(self.events, step)

    def _next_uses(self, number: int) -> dict[int, int]:
        """The buffers that are used soon after one, and how soon."""
        found: dict[int, int] = {}
        for other, distance in self._uses_after(number):
            if other != number and other not in self.together[number]:
                found[other] = min(distance, found.get(other, REACH))
        return found

    def _uses_after(self, number: int) -> Iterator[tuple[int, int]]:
        """
        Yield the buffers used next and their distances, in this iteration of each loop
        and in the one after.
        """
        use = self.uses[number]
        last = self._event_rank(use.last)
        for distance in range(1, REACH):
            for other in self.starting.get(last + distance, ()):
                yield other, distance
        for loop in use.loops:
            start, left = self._event_rank(loop[0]), self._event_rank(loop[1]) - last
            for distance in range(max(1, left), REACH):
                for other in self.starting.get(start + distance - left, ()):
                    there = self.uses[other]
                    if there.first < use.first and loop in there.loops:
                        yield other, distance

    def _hazard_cost(self, one: int, other: int, distance: int) -> int:
        """
        Estimate the stall cost of allocating the second buffer where the first was.
        """
        before, after = self.uses[one], self.uses[other]
        late = max(0, before.exit - after.entry)
        pairs = zip(before.loops, after.loops, strict=False)
        common = sum(mine == theirs for mine, theirs in pairs)
        return late * (REACH - distance) * REPEATED**common
