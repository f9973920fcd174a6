"""
Allocate with few hazards: a local search over insertion orders of buffers.

The cost depends on the order in which buffers are placed. Some simple orders are
evaluated first, then perturbations that move buffers involved in hazards.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.allocation.buffer import Allocation, Buffer, align
from tlf.support.allocation.hazards import Hazards, Use, find_hazards

MAX_ROUNDS = 100
"""Maximum number of perturbed orders that are evaluated."""

MAX_PLACED_BUFFERS = 20_000
"""Maximum number of buffers that are placed for the perturbed orders."""


def place_by_hazards(
    buffers: Sequence[Buffer], uses: Sequence[Use], capacity: int
) -> Allocation | None:
    """
    Return a placement within `capacity` bytes in which buffers that engines use shortly
    after one another seldom share bytes, or None if none was found.

    Every buffer is live as a whole and without gaps, and no offset is fixed.
    """
    together = _live_together(buffers)
    placement = _HazardPlacement(
        buffers, together, find_hazards(uses, together), capacity
    )
    if (best := placement.run()) is None:
        return None
    ends = (
        offset + each.size for offset, each in zip(best.offsets, buffers, strict=True)
    )
    return Allocation(tuple(best.offsets), max(ends, default=0), method="hazards")


def _live_together(buffers: Sequence[Buffer]) -> list[set[int]]:
    """Return the indices of the buffers whose lifetimes overlap that of each buffer."""
    overlapping: list[set[int]] = [set() for _ in buffers]
    live: list[int] = []
    for index in sorted(range(len(buffers)), key=lambda n: _start(buffers[n])):
        live = [each for each in live if _end(buffers[each]) > _start(buffers[index])]
        for other in live:
            overlapping[index].add(other)
            overlapping[other].add(index)
        live.append(index)
    return overlapping


def _start(buffer: Buffer) -> int:
    return min(span.start for span in buffer.spans)


def _end(buffer: Buffer) -> int:
    return max(span.end for span in buffer.spans)


@dataclass
class _Attempt:
    """Placement of buffers in one order."""

    order: Sequence[int]
    offsets: list[int]
    cost: int = 0
    """Total cost of hazards."""
    blamed: set[int] = field(default_factory=set[int])
    """Buffers that are involved in hazards."""


@dataclass
class _HazardPlacement:
    """Placement of buffers in many orders."""

    buffers: Sequence[Buffer]
    together: Sequence[set[int]]
    hazards: Hazards
    capacity: int

    def run(self) -> _Attempt | None:
        """Return the best attempt, or None if none fits."""
        best: _Attempt | None = None
        for key in self._sort_keys():
            attempt = self._place_in_order(sorted(range(len(self.buffers)), key=key))
            if attempt and (best is None or attempt.cost < best.cost):
                best = attempt
        if best is None:
            return None
        generator = random.Random(0)
        for _ in range(
            min(MAX_ROUNDS, MAX_PLACED_BUFFERS // max(1, len(self.buffers)))
        ):
            if not best.cost:
                break
            best = (
                self._place_in_order(_perturb_order(best, generator), best.cost) or best
            )
        return best

    def _sort_keys(self) -> Iterator[Callable[[int], tuple[int, ...]]]:
        """
        Yield sort keys of buffers: by decreasing size, by start, by area, and by size
        of the overlapping buffers.
        """
        sizes = [each.aligned_size for each in self.buffers]
        starts = [_start(each) for each in self.buffers]
        areas = [
            each.aligned_size * (_end(each) - _start(each)) for each in self.buffers
        ]
        crowding = [
            sizes[index] + sum(sizes[other] for other in overlapping)
            for index, overlapping in enumerate(self.together)
        ]
        yield lambda index: (-sizes[index],)
        yield lambda index: (starts[index], -sizes[index])
        yield lambda index: (-areas[index],)
        yield lambda index: (-crowding[index], -sizes[index])

    def _place_in_order(
        self, order: Sequence[int], most: int | None = None
    ) -> _Attempt | None:
        """
        Place buffers in an order. Return None if a buffer does not fit, or if the cost
        exceeds `most`.
        """
        attempt = _Attempt(order, [-1] * len(self.buffers))
        for index in order:
            hazard_ranges = self._occupied_ranges(attempt, self.hazards[index])
            if (
                offset := self._find_best_offset(attempt, index, hazard_ranges)
            ) is None:
                return None
            attempt.offsets[index] = offset
            end = offset + self.buffers[index].aligned_size
            conflicting = [
                other
                for other, low, high in hazard_ranges
                if low < end and offset < high
            ]
            if conflicting:
                attempt.cost += sum(self.hazards[index][other] for other in conflicting)
                if most is not None and attempt.cost > most:
                    return None
                attempt.blamed.update(conflicting, (index,))
        return attempt

    def _occupied_ranges(
        self, attempt: _Attempt, numbers: Iterable[int]
    ) -> list[tuple[int, int, int]]:
        """
        Return the buffers of `numbers` that have been placed, and their bytes [start,
        end).
        """
        offsets, buffers = attempt.offsets, self.buffers
        return [
            (index, offset, offset + buffers[index].aligned_size)
            for index in numbers
            if (offset := offsets[index]) >= 0
        ]

    def _find_best_offset(
        self, attempt: _Attempt, number: int, near: Sequence[tuple[int, int, int]]
    ) -> int | None:
        """
        Return the offset at which a buffer causes the lowest cost, the lowest offset
        among equals, or None if it does not fit.
        """
        buffer, costs = self.buffers[number], self.hazards[number]
        occupied = self._occupied_ranges(attempt, self.together[number])
        size, alignment = buffer.aligned_size, buffer.alignment
        candidates = {0, self.capacity - size}
        for _, low, high in (*occupied, *near):
            candidates |= {align(high, alignment), low - size}
        best: tuple[int, int] | None = None
        for offset in sorted(
            {candidate - candidate % alignment for candidate in candidates}
        ):
            end = offset + size
            if offset < 0 or end > self.capacity:
                continue
            if any(low < end and offset < high for _, low, high in occupied):
                continue
            cost = sum(costs[o] for o, low, high in near if low < end and offset < high)
            if best is None or cost < best[0]:
                best = cost, offset
            if not cost:
                break
        return None if best is None else best[1]


def _perturb_order(attempt: _Attempt, numbers: random.Random) -> list[int]:
    """Return the order of an attempt with up to three blamed buffers moved."""
    order, blamed = list(attempt.order), sorted(attempt.blamed)
    for _ in range(numbers.randrange(1, 4)):
        index = numbers.choice(blamed)
        order.remove(index)
        order.insert(numbers.randrange(len(order) + 1), index)
    return order
