"""
Branch and bound along a skyline: exact search for offsets within a capacity.

Blocks fall: in some placement every block lies on the bottom of the memory or on
another block, else it could go down. So blocks are placed from the bottom up, and what
is placed has a skyline, the *floor* of every section of time. At a section where the
floor is low, the next block either lies on this floor, and then all of it does, or the
floor there rises to where the next one can lie. There are no other cases.

- A section whose floor and remaining bytes exceed the capacity ends a branch. So bytes
  that nothing can fill any more, in a pit too narrow for what is left, count at once.
- A block does not lie where all below it is waste: it could go down.
- Where time falls apart, with no block left in two pieces, each is searched alone.
- What is left to place and the floor say all about the rest, so what failed is noted.

Placements that cannot go down and bounds by sections are ideas of MiniMalloc (Moffitt,
ASPLOS 2023); skylines are known from packing strips (Burke, Kendall and Whitwell,
Operations Research 52, 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

from tlf.support.allocation.skyline import Pit, Skyline, iterate_bits

Step: TypeAlias = "Generator[Step, bool | None, bool]"
"""A part of the search: yields parts to do first, and is sent whether they succeed."""


class OutOfBudgetError(Exception):
    """The search was cut short."""


class SkylineSearch:
    """
    One search, with one rule for which section to decide on next.

    Blocks are numbered by preference: of those that may lie somewhere, the first one is
    tried first.
    """

    def __init__(
        self,
        skyline: Skyline,
        urgency: Callable[[Skyline, Pit], float],
        budget: int,
    ) -> None:
        """
        The pit with the least `urgency` is decided on first. A search ends after about
        `budget` visits of sections.
        """
        self.skyline = skyline
        self.urgency = urgency
        self.budget = budget
        self.offsets = [0] * len(skyline.shapes)
        self.failed: set[tuple[int, int, tuple[int, ...]]] = set()

    def run(self) -> bool:
        """
        Return whether there is a placement, which then is in `offsets`.

        Raises `OutOfBudgetError`.
        """
        skyline = self.skyline
        everything = (1 << len(skyline.shapes)) - 1
        if not skyline.is_plausible():
            return False
        # Placements are deeper than Python's stack, so the steps have one of their own.
        pending: list[Step] = [self._place_components(0, skyline.count, everything, 0)]
        answer: bool | None = None
        while pending:
            try:
                pending.append(pending[-1].send(answer))
                answer = None
            except StopIteration as done:
                pending.pop()
                answer = bool(done.value)
        return bool(answer)

    def _place_components(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> Step:
        """Place what is left in the sections [low, high), piece by piece."""
        pieces = list(self._split_components(low, high, unplaced))
        if len(pieces) == 1:
            return bool((yield self._branch(*pieces[0], wasted)))
        saved = self.skyline.save_state(low, high)
        for piece in sorted(pieces, key=lambda each: each[1] - each[0]):
            if not (yield self._branch(*piece, wasted)):
                self.skyline.restore_state(low, saved)
                return False
        return True

    def _split_components(
        self, low: int, high: int, unplaced: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the pieces of sections, with the blocks of each."""
        skyline = self.skyline
        start = low
        for end in range(low + 1, high + 1):
            if end < high and unplaced & skyline.crossing[end]:
                continue
            if inside := unplaced & skyline.blocks_within(start, end):
                yield start, end, inside
            start = end

    def _branch(self, low: int, high: int, unplaced: int, wasted: int) -> Step:
        """Place what is left in a piece: choose a section, try what may lie there."""
        skyline = self.skyline
        saved = skyline.floor[low:high]
        pit, wasted = self._raise_floors(low, high, unplaced, wasted)
        if pit is None:
            skyline.floor[low:high] = saved
            return False
        key = (
            unplaced,
            wasted & skyline.section_mask(low, high),
            tuple(skyline.floor[low:high]),
        )
        if key not in self.failed:
            for number in iterate_bits(pit.fits):
                offset = skyline.place_block(number, pit.floor)
                if offset is None:
                    continue
                self.offsets[number] = offset
                rest = unplaced & ~(1 << number)
                kept = wasted & ~skyline.sections[number]
                if (yield self._place_components(low, high, rest, kept)):
                    return True
                skyline.remove_block(number, pit.floor)
            bottom = skyline.next_floor_bound(pit, unplaced)
            if skyline.raise_floor(pit.section, bottom):
                above = wasted | 1 << pit.section
                if (yield self._branch(low, high, unplaced, above)):
                    return True
            skyline.weights[pit.section] += 1
            self.failed.add(key)
        skyline.floor[low:high] = saved
        return False

    def _raise_floors(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> tuple[Pit | None, int]:
        """
        Let the floor rise where nothing can lie, and return the most urgent section to
        decide on, or none if too little room is left; and the sections with waste.
        """
        skyline = self.skyline
        changed = True
        best: Pit | None = None
        while changed:
            changed = False
            best, least = None, 0.0
            self.budget -= high - low
            if self.budget < 0:
                raise OutOfBudgetError
            for pit in skyline.find_pits(low, high, unplaced, wasted):
                if pit.fits:
                    urgency = self.urgency(skyline, pit)
                    if best is None or urgency < least:
                        best, least = pit, urgency
                    continue
                if not skyline.raise_floor(
                    pit.section, skyline.next_floor_bound(pit, unplaced)
                ):
                    skyline.weights[pit.section] += 1
                    return None, wasted
                wasted |= 1 << pit.section
                changed = True
        return best, wasted
