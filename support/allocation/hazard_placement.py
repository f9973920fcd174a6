"""
Memory allocation with few hazards, without IR: a local search over insertion orders.

The cost depends on the order in which buffers are placed. Some simple orders are
evaluated first, then perturbations that move buffers involved in hazards.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from tlf.support.allocation.buffer_model import Allocation, Buffer, align_offset
from tlf.support.allocation.hazards import BufferUse, Hazards, find_hazards

MAX_ROUNDS = 100
"""Maximum number of perturbed orders that are evaluated."""

MAX_PLACED_BUFFERS = 20_000
"""Maximum number of buffers that are placed for the perturbed orders."""


def place_by_hazards(
    buffers: Sequence[Buffer], uses: Sequence[BufferUse], capacity: int
) -> Allocation | None:
    """
    Return a placement within `capacity` bytes in which buffers that engines use shortly
    after one another seldom share bytes, or None if none was found.

    Every buffer is live as a whole and without gaps, and no offset is fixed.
    """
    together = _find_overlapping_lifetimes(buffers)
    placement = _HazardPlacement(
        buffers, together, find_hazards(uses, together), capacity
    )
    if (best := placement.find_best_placement()) is None:
        return None
    ends = (
        offset + each.size for offset, each in zip(best.offsets, buffers, strict=True)
    )
    return Allocation(tuple(best.offsets), max(ends, default=0), method="hazards")


def _find_overlapping_lifetimes(buffers: Sequence[Buffer]) -> list[set[int]]:
    """Return the indices of the buffers whose lifetimes overlap that of each buffer."""
    overlapping: list[set[int]] = [set() for _ in buffers]
    live: list[int] = []
    for index in sorted(
        range(len(buffers)), key=lambda n: _first_live_step(buffers[n])
    ):
        live = [
            each
            for each in live
            if _lifetime_end(buffers[each]) > _first_live_step(buffers[index])
        ]
        for other in live:
            overlapping[index].add(other)
            overlapping[other].add(index)
        live.append(index)
    return overlapping


def _first_live_step(buffer: Buffer) -> int:
    return min(span.start for span in buffer.spans)


def _lifetime_end(buffer: Buffer) -> int:
    return max(span.end for span in buffer.spans)


@dataclass
class _Attempt:
    """
    Offsets of buffers that were placed in one order, with the cost of their hazards.
    """

    order: Sequence[int]
    offsets: list[int]
    cost: int = 0
    """Total cost of hazards."""
    hazards: list[tuple[int, Sequence[int]]] = field(
        default_factory=list[tuple[int, Sequence[int]]]
    )
    """
    Cost of the hazards of each placed buffer, and the buffers that are involved, in the
    order of placement.
    """

    @property
    def conflicting_buffers(self) -> set[int]:
        """Buffers that are involved in hazards."""
        return {index for _, involved in self.hazards for index in involved}

    def with_order(self, order: Sequence[int]) -> _Attempt:
        """
        Return an attempt with another order, in which the buffers are placed with which
        both orders begin.
        """
        pairs = zip(self.order, order, strict=True)
        count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        offsets = [-1] * len(self.offsets)
        for index in order[:count]:
            offsets[index] = self.offsets[index]
        hazards = self.hazards[:count]
        return _Attempt(order, offsets, sum(cost for cost, _ in hazards), hazards)


@dataclass
class _HazardPlacement:
    """Heuristic search over placement orders for buffer offsets with few hazards."""

    buffers: Sequence[Buffer]
    overlapping_buffers: Sequence[set[int]]
    hazards: Hazards
    capacity: int
    sizes: Sequence[int] = field(init=False)
    """Aligned sizes of the buffers."""

    def __post_init__(self) -> None:
        self.sizes = [each.aligned_size for each in self.buffers]

    def find_best_placement(self) -> _Attempt | None:
        """
        Return the attempt with the lowest hazard cost that was found; None if none
        fits.
        """
        best: _Attempt | None = None
        for key in self._candidate_sort_keys():
            order = sorted(range(len(self.buffers)), key=key)
            attempt = self._place_remaining(_Attempt(order, [-1] * len(order)))
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
            start = best.with_order(_move_conflicting_buffers(best, generator))
            best = self._place_remaining(start, best.cost) or best
        return best

    def _candidate_sort_keys(self) -> Iterator[Callable[[int], tuple[int, ...]]]:
        """
        Yield sort keys of buffers: by decreasing size, by start, by area, and by size
        of the overlapping buffers.
        """
        sizes = self.sizes
        starts = [_first_live_step(each) for each in self.buffers]
        areas = [
            size * (_lifetime_end(each) - _first_live_step(each))
            for size, each in zip(sizes, self.buffers, strict=True)
        ]
        crowding = [
            sizes[index] + sum(sizes[other] for other in overlapping)
            for index, overlapping in enumerate(self.overlapping_buffers)
        ]
        yield lambda index: (-sizes[index],)
        yield lambda index: (starts[index], -sizes[index])
        yield lambda index: (-areas[index],)
        yield lambda index: (-crowding[index], -sizes[index])

    def _place_remaining(
        self, attempt: _Attempt, max_cost: int | None = None
    ) -> _Attempt | None:
        """
        Place the buffers of an attempt that are not placed yet, in order, and return
        it. Return None if a buffer does not fit, or if the cost exceeds `max_cost`.
        """
        for index in attempt.order[len(attempt.hazards) :]:
            costs = self.hazards[index]
            hazard_ranges = self._occupied_ranges(attempt, costs)
            cost_left = None if max_cost is None else max_cost - attempt.cost
            offset = self._find_best_offset(attempt, index, hazard_ranges, cost_left)
            if offset is None:
                return None
            attempt.offsets[index] = offset
            end = offset + self.sizes[index]
            conflicting = [
                other
                for low, high, other in hazard_ranges
                if low < end and offset < high
            ]
            cost = sum([costs[other] for other in conflicting])
            involved = (*conflicting, index) if conflicting else ()
            attempt.hazards.append((cost, involved))
            attempt.cost += cost
            if conflicting and max_cost is not None and attempt.cost > max_cost:
                return None
        return attempt

    def _occupied_ranges(
        self, attempt: _Attempt, buffer_indices: Iterable[int]
    ) -> list[tuple[int, int, int]]:
        """
        Return the bytes [start, end) of the buffers of `buffer_indices` that have been
        placed, each with its index.
        """
        offsets, sizes = attempt.offsets, self.sizes
        return [
            (offset, offset + sizes[index], index)
            for index in buffer_indices
            if (offset := offsets[index]) >= 0
        ]

    def _find_best_offset(
        self,
        attempt: _Attempt,
        buffer_index: int,
        hazard_ranges: Sequence[tuple[int, int, int]],
        max_cost: int | None,
    ) -> int | None:
        """
        Return the offset at which a buffer causes the lowest cost, the lowest offset
        among equals, or None if it does not fit or its cost certainly exceeds
        `max_cost`. Candidates are the offsets next to other buffers.
        """
        costs, size = self.hazards[buffer_index], self.sizes[buffer_index]
        alignment = self.buffers[buffer_index].alignment
        occupied = self._occupied_ranges(
            attempt, self.overlapping_buffers[buffer_index]
        )
        free_gaps = _find_gaps([*occupied, *hazard_ranges], self.capacity)
        free_offset = _find_lowest_offset(free_gaps, size, alignment)
        if free_offset is not None or not hazard_ranges:
            return free_offset
        if max_cost is not None and max_cost < min(
            [costs[other] for _, _, other in hazard_ranges]
        ):
            return None
        gaps = _find_gaps(occupied, self.capacity)
        offsets = _candidate_offsets(gaps, hazard_ranges, size, alignment)
        return _find_cheapest_offset(offsets, size, gaps, hazard_ranges, costs)


def _find_cheapest_offset(
    offsets: Iterable[int],
    size: int,
    gaps: Sequence[tuple[int, int]],
    hazard_ranges: Sequence[tuple[int, int, int]],
    costs: Mapping[int, int],
) -> int | None:
    """
    Return the first of the ascending offsets in a gap at which `size` bytes cause the
    lowest cost; None if they do not fit at any.
    """
    starts = [start for start, _ in gaps]
    best: tuple[int, int] | None = None
    for offset in offsets:
        end, gap = offset + size, bisect_right(starts, offset) - 1
        if gap < 0 or end > gaps[gap][1]:
            continue
        cost = sum(
            [
                costs[other]
                for low, high, other in hazard_ranges
                if low < end and offset < high
            ]
        )
        if best is None or cost < best[0]:
            best = cost, offset
    return None if best is None else best[1]


def _find_gaps(
    occupied_ranges: Iterable[tuple[int, int, int]], capacity: int
) -> list[tuple[int, int]]:
    """Return the free bytes [start, end) between occupied ranges, in order."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high, _ in sorted(occupied_ranges):
        if start < low:
            gaps.append((start, low))
        start = max(start, high)
    if start < capacity:
        gaps.append((start, capacity))
    return gaps


def _candidate_offsets(
    gaps: Iterable[tuple[int, int]],
    hazard_ranges: Iterable[tuple[int, int, int]],
    size: int,
    alignment: int,
) -> list[int]:
    """Return the aligned offsets next to the ends of gaps and of other buffers."""
    candidates: set[int] = set()
    aligned: set[int] = set()
    for start, end in gaps:
        aligned.add(align_offset(start, alignment))
        candidates.add(end - size)
    for low, high, _ in hazard_ranges:
        candidates |= {align_offset(high, alignment), low - size}
    aligned |= {each - each % alignment for each in candidates}
    return sorted(aligned)


def _find_lowest_offset(
    gaps: Iterable[tuple[int, int]], size: int, alignment: int
) -> int | None:
    """Return the lowest aligned offset in a gap of `size` bytes; None if none fits."""
    offsets = ((align_offset(start, alignment), end) for start, end in gaps)
    return next((offset for offset, end in offsets if offset + size <= end), None)


def _move_conflicting_buffers(attempt: _Attempt, generator: random.Random) -> list[int]:
    """Return the order of an attempt with up to three blamed buffers moved."""
    order, blamed = list(attempt.order), sorted(attempt.conflicting_buffers)
    for _ in range(generator.randrange(1, 4)):
        index = generator.choice(blamed)
        order.remove(index)
        order.insert(generator.randrange(len(order) + 1), index)
    return order
