"""
Branch and bound along a skyline, without IR: exact search for buffer offsets in a
capacity.

If there is a placement, there is one in which every block rests on the bottom of the
memory or on another block: otherwise it could be moved down. So blocks are placed from
the bottom up, and the placed blocks have a skyline, the *floor* of every section of
time. At a section with a low floor, either the next block rests on this floor as a
whole, or the floor is raised to the lowest offset of the next block. There are no other
cases.

- A branch ends if the floor plus the unplaced bytes of a section exceed the capacity.
  So bytes that no block can fill any more, in a pit too narrow for the unplaced blocks,
  count immediately.
- A block is not placed on waste only: it could be moved down.
- Where no unplaced block crosses a point in time, both sides are independent
  components, and are searched separately.
- The unplaced blocks and the floor determine the rest of the search, so failed states
  are memoized.

Placements in which no block can be moved down and bounds by sections are ideas of
MiniMalloc (Moffitt, ASPLOS 2023); skylines are known from strip packing (Burke, Kendall
and Whitwell, Operations Research 52, 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

from tlf.support.allocation.skyline import Pit, Skyline
from tlf.support.bit_sets import elements_of_mask

Step: TypeAlias = "Generator[Step, bool | None, bool]"
"""
Coroutine of the search: yields subproblems to solve first, and is sent their results.
"""


class OutOfBudgetError(Exception):
    """The search exceeded its budget."""


class SkylineSearch:
    """
    Branch and bound for block offsets, with one rule for the next section to decide on.

    Blocks are numbered by preference: of the blocks that may be placed, the one with
    the lowest index is placed first.
    """

    def __init__(
        self,
        skyline: Skyline,
        urgency: Callable[[Skyline, Pit], float],
        budget: int,
    ) -> None:
        """
        Decide on the pit with the least `urgency` first. A search ends after about
        `budget` visits of sections.
        """
        self.skyline = skyline
        self.urgency = urgency
        self.budget = budget
        self.offsets = [0] * len(skyline.shapes)
        self.failed: set[tuple[int, int, tuple[int, ...]]] = set()

    def find_placement(self) -> bool:
        """
        Return `True` if there is a placement, which is then in `offsets`.

        Raises `OutOfBudgetError` if the budget is spent.
        """
        skyline = self.skyline
        everything = (1 << len(skyline.shapes)) - 1
        if not skyline.can_have_placement():
            return False
        # The search is deeper than Python's stack, hence an explicit one.
        pending: list[Step] = [
            self._place_blocks_by_components(0, skyline.count, everything, 0)
        ]
        answer: bool | None = None
        while pending:
            try:
                pending.append(pending[-1].send(answer))
                answer = None
            except StopIteration as done:
                pending.pop()
                answer = bool(done.value)
        return bool(answer)

    def _place_blocks_by_components(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> Step:
        """
        Place the unplaced blocks of the sections [low, high), component by component.
        """
        components = list(self._split_components(low, high, unplaced))
        if len(components) == 1:
            return bool((yield self._branch_on_blocks_of_pit(*components[0], wasted)))
        saved = self.skyline.save_state(low, high)
        for component in sorted(components, key=lambda each: each[1] - each[0]):
            if not (yield self._branch_on_blocks_of_pit(*component, wasted)):
                self.skyline.restore_state(low, saved)
                return False
        return True

    def _split_components(
        self, low: int, high: int, unplaced: int
    ) -> Iterator[tuple[int, int, int]]:
        """
        Yield the components of the sections [low, high), each with its unplaced blocks.
        """
        skyline = self.skyline
        start = low
        for end in range(low + 1, high + 1):
            if end < high and unplaced & skyline.crossing[end]:
                continue
            if inside := unplaced & skyline.blocks_within(start, end):
                yield start, end, inside
            start = end

    def _branch_on_blocks_of_pit(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> Step:
        """
        Place the unplaced blocks of a component: select a section, and branch on the
        blocks that may be placed there.
        """
        skyline = self.skyline
        saved = skyline.floor[low:high]
        pit, wasted = self._raise_floors_of_dead_pits(low, high, unplaced, wasted)
        if pit is None:
            skyline.floor[low:high] = saved
            return False
        key = self._make_state_key(low, high, unplaced, wasted)
        if key not in self.failed:
            for index in elements_of_mask(pit.fitting_blocks):
                offset = skyline.place_block(index, pit.floor)
                if offset is None:
                    continue
                self.offsets[index] = offset
                rest = unplaced & ~(1 << index)
                still_wasted = wasted & ~skyline.sections[index]
                if (
                    yield self._place_blocks_by_components(
                        low, high, rest, still_wasted
                    )
                ):
                    return True
                skyline.remove_block(index, pit.floor)
            bottom = skyline.next_floor_bound(pit, unplaced)
            if skyline.raise_section_floor(pit.section, bottom):
                above = wasted | 1 << pit.section
                if (yield self._branch_on_blocks_of_pit(low, high, unplaced, above)):
                    return True
            skyline.weights[pit.section] += 1
            self.failed.add(key)
        skyline.floor[low:high] = saved
        return False

    def _make_state_key(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> tuple[int, int, tuple[int, ...]]:
        """Return the state of a component, which determines the rest of its search."""
        return (
            unplaced,
            wasted & self.skyline.section_mask(low, high),
            tuple(self.skyline.floor[low:high]),
        )

    def _raise_floors_of_dead_pits(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> tuple[Pit | None, int]:
        """
        Raise the floor where no block can be placed. Return the most urgent section to
        decide on, or None if the remaining capacity is too small; and the sections with
        waste.
        """
        skyline = self.skyline
        changed = True
        best: Pit | None = None
        while changed:
            changed = False
            best, lowest = None, 0.0
            self.budget -= high - low
            if self.budget < 0:
                raise OutOfBudgetError
            for pit in skyline.find_pits(low, high, unplaced, wasted):
                if pit.fitting_blocks:
                    urgency = self.urgency(skyline, pit)
                    if best is None or urgency < lowest:
                        best, lowest = pit, urgency
                    continue
                if not skyline.raise_section_floor(
                    pit.section, skyline.next_floor_bound(pit, unplaced)
                ):
                    skyline.weights[pit.section] += 1
                    return None, wasted
                wasted |= 1 << pit.section
                changed = True
        return best, wasted
