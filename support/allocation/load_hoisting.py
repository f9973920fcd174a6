"""
Hoisting of loads in a sequence of numbered items, without IR, as far as their buffers
fit meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tlf.support.allocation.buffer_model import Buffer
from tlf.support.allocation.lifetime_ranks import renumber_lifetime_steps
from tlf.support.allocation.live_intervals import LiveBytes
from tlf.support.allocation.packing import pack_side_by_side, pack_within_capacity

CAPACITY_SHARES = tuple(Fraction(32 - number, 32) for number in range(12))
"""
Shares of a level's capacity that may be live, largest first: placement gets easier as
the share decreases.
"""

FEASIBILITY_VISITS = 200_000
"""Maximum number of visits to decide whether a placement exists."""


@dataclass(frozen=True)
class LoadHoisting:
    """
    Loads in a sequence of items, each of which fills a buffer of its own. Items are
    identified by their positions.
    """

    buffers: Sequence[Buffer]
    """Buffers of the level, each live without gaps."""
    steps: Sequence[tuple[int, int]]
    """First and last step of each item."""
    loads: Mapping[int, int]
    """Index of the buffer that each load fills, in program order."""
    capacity: int
    is_barrier: Callable[[int, int], bool]
    """True if a load cannot be hoisted above an item."""

    def candidate_target_positions(self) -> Iterator[dict[int, int]]:
        """
        Yield target positions of loads: the earliest ones at which the buffers fit,
        then those for smaller shares of the capacity. Loads that do not move are not
        included.
        """
        for share in CAPACITY_SHARES:
            targets = self._targets_within_live_bytes(int(self.capacity * share))
            if targets and self._is_likely_allocatable(targets):
                yield targets

    def _targets_within_live_bytes(self, max_live_bytes: int) -> dict[int, int]:
        """
        Return the target positions of loads with at most `max_live_bytes` live bytes.
        Loads keep their order.
        """
        live = LiveBytes.of(self.buffers)
        peaks = [live.peak_during(start, last + 1) for start, last in self.steps]
        targets: dict[int, int] = {}
        first = 0
        for load, index in self.loads.items():
            target, size = load, self.buffers[index].aligned_size
            while (
                target > first
                and peaks[target - 1] + size <= max_live_bytes
                and not self.is_barrier(load, target - 1)
            ):
                target -= 1
                peaks[target] += size
            first = target
            if target < load:
                targets[load] = target
            else:
                first += 1
        return targets

    def _is_likely_allocatable(self, targets: Mapping[int, int]) -> bool:
        """
        Return `True` if the allocator is likely to find offsets with loads at their
        target positions.
        """
        hoisted = list(self.buffers)
        for load, target in targets.items():
            index, (step, _) = self.loads[load], self.steps[target]
            hoisted[index] = hoisted[index].extend_lifetime(step, step)
        buffers = renumber_lifetime_steps(hoisted)
        if pack_side_by_side(buffers).peak <= self.capacity:
            return True
        return (
            pack_within_capacity(buffers, self.capacity, FEASIBILITY_VISITS) is not None
        )
