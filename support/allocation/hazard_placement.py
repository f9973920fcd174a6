"""
Allocate with few hazards: a local search over insertion orders of buffers.

Which buffers are placed first decides how good that gets. Some simple orders are tried,
and then others in which buffers that are in the way of others have moved.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.allocation.buffer import Allocation, Buffer, align
from tlf.support.allocation.hazards import Hazards, Use, find_hazards

MAX_ROUNDS = 100
"""Maximum number of other orders that are tried."""

MAX_PLACED_BUFFERS = 20_000
"""Maximum number of buffers that are placed for these orders."""


def place_by_hazards(
    buffers: Sequence[Buffer], uses: Sequence[Use], capacity: int
) -> Allocation | None:
    """
    Return a placement within `capacity` bytes in which buffers that engines use shortly
    after one another seldom share bytes, or None if none was found.

    Lifetimes are of whole buffers and have no gaps, and all offsets are free.
    """
    together = _live_together(buffers)
    settling = _HazardPlacement(
        buffers, together, find_hazards(uses, together), capacity
    )
    if (best := settling.run()) is None:
        return None
    ends = (at + each.size for at, each in zip(best.offsets, buffers, strict=True))
    return Allocation(tuple(best.offsets), max(ends, default=0), method="hazards")


def _live_together(buffers: Sequence[Buffer]) -> list[set[int]]:
    """The buffers that are live when one is, by number."""
    found: list[set[int]] = [set() for _ in buffers]
    live: list[int] = []
    for number in sorted(range(len(buffers)), key=lambda n: _start(buffers[n])):
        live = [each for each in live if _end(buffers[each]) > _start(buffers[number])]
        for other in live:
            found[number].add(other)
            found[other].add(number)
        live.append(number)
    return found


def _start(buffer: Buffer) -> int:
    return min(span.start for span in buffer.spans)


def _end(buffer: Buffer) -> int:
    return max(span.end for span in buffer.spans)


@dataclass
class _Attempt:
    """Buffers that were placed in some order."""

    order: Sequence[int]
    offsets: list[int]
    cost: int = 0
    """Total cost of hazards."""
    blamed: set[int] = field(default_factory=set[int])
    """Buffers with a part in that."""


@dataclass
class _HazardPlacement:
    """Places buffers in many orders."""

    buffers: Sequence[Buffer]
    together: Sequence[set[int]]
    hazards: Hazards
    capacity: int

    def run(self) -> _Attempt | None:
        """The best attempt, if there is one that fits."""
        best: _Attempt | None = None
        for key in self._sort_keys():
            found = self._place_in_order(sorted(range(len(self.buffers)), key=key))
            if found and (best is None or found.cost < best.cost):
                best = found
        if best is None:
            return None
        numbers = random.Random(0)
        for _ in range(
            min(MAX_ROUNDS, MAX_PLACED_BUFFERS // max(1, len(self.buffers)))
        ):
            if not best.cost:
                break
            best = (
                self._place_in_order(_perturb_order(best, numbers), best.cost) or best
            )
        return best

    def _sort_keys(self) -> Iterator[Callable[[int], tuple[int, ...]]]:
        """Keys to sort buffers by: large ones first, or early ones."""
        rooms = [each.aligned_size for each in self.buffers]
        starts = [_start(each) for each in self.buffers]
        areas = [
            each.aligned_size * (_end(each) - _start(each)) for each in self.buffers
        ]
        crowds = [
            rooms[number] + sum(rooms[other] for other in others)
            for number, others in enumerate(self.together)
        ]
        yield lambda number: (-rooms[number],)
        yield lambda number: (starts[number], -rooms[number])
        yield lambda number: (-areas[number],)
        yield lambda number: (-crowds[number], -rooms[number])

    def _place_in_order(
        self, order: Sequence[int], most: int | None = None
    ) -> _Attempt | None:
        """
        Place buffers in an order; None if one of them has no room, or if that costs
        more than is given.
        """
        attempt = _Attempt(order, [-1] * len(self.buffers))
        for number in order:
            near = self._occupied_ranges(attempt, self.hazards[number])
            if (at := self._find_best_offset(attempt, number, near)) is None:
                return None
            attempt.offsets[number] = at
            end = at + self.buffers[number].aligned_size
            met = [other for other, low, high in near if low < end and at < high]
            if met:
                attempt.cost += sum(self.hazards[number][other] for other in met)
                if most is not None and attempt.cost > most:
                    return None
                attempt.blamed.update(met, (number,))
        return attempt

    def _occupied_ranges(
        self, attempt: _Attempt, numbers: Iterable[int]
    ) -> list[tuple[int, int, int]]:
        """
        Return those of some buffers that have been placed, and the bytes they take.
        """
        offsets, buffers = attempt.offsets, self.buffers
        return [
            (number, at, at + buffers[number].aligned_size)
            for number in numbers
            if (at := offsets[number]) >= 0
        ]

    def _find_best_offset(
        self, attempt: _Attempt, number: int, near: Sequence[tuple[int, int, int]]
    ) -> int | None:
        """
        Return the offset at which a buffer causes the least cost, the lowest of equals;
        `None` if there is none.
        """
        buffer, costs = self.buffers[number], self.hazards[number]
        taken = self._occupied_ranges(attempt, self.together[number])
        room, alignment = buffer.aligned_size, buffer.alignment
        places = {0, self.capacity - room}
        for _, low, high in (*taken, *near):
            places |= {align(high, alignment), low - room}
        best: tuple[int, int] | None = None
        for at in sorted({place - place % alignment for place in places}):
            end = at + room
            if at < 0 or end > self.capacity:
                continue
            if any(low < end and at < high for _, low, high in taken):
                continue
            cost = sum(costs[o] for o, low, high in near if low < end and at < high)
            if best is None or cost < best[0]:
                best = cost, at
            if not cost:
                break
        return None if best is None else best[1]


def _perturb_order(attempt: _Attempt, numbers: random.Random) -> list[int]:
    """Return the order of an attempt with up to three blamed buffers moved."""
    order, blamed = list(attempt.order), sorted(attempt.blamed)
    for _ in range(numbers.randrange(1, 4)):
        number = numbers.choice(blamed)
        order.remove(number)
        order.insert(numbers.randrange(len(order) + 1), number)
    return order
