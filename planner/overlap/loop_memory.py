"""Capacity of memory levels for slots of the buffers of a loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from tlf.dialects.target import Level
from tlf.support.allocation import (
    LiveBytes,
    LiveInterval,
    align_offset,
    peak_live_bytes,
)


@dataclass(frozen=True)
class LiveBuffer:
    """Buffer of a function with its live range."""

    identity: Hashable
    bytes: int
    """Size of a copy."""
    steps: tuple[int, int] | None
    """First and last step with a use; None if there is none."""
    copy_count: int = 1


@dataclass(frozen=True)
class LoopMemory:
    """
    Buffers of a function, and the steps of a loop in it. The buffers of a level are
    collected when they are first asked for.
    """

    collect_buffers: Callable[[str], Sequence[LiveBuffer]]
    """Returns the buffers of a level."""
    steps: tuple[int, int]
    """First and last step of the loop."""
    temporary_bytes: int
    """Bytes of temporaries of the body that are not buffers yet."""
    _buffers_by_level: dict[str, Sequence[LiveBuffer]] = field(
        init=False, default_factory=dict[str, Sequence[LiveBuffer]]
    )

    def has_room_with_sharing(
        self, level: Level, multibuffers: Collection[Hashable], slot_count: int
    ) -> bool:
        """
        Return `True` if the live bytes at every step fit in a level, with slots for
        multi-buffers.
        """
        intervals = self._live_intervals(level, multibuffers, slot_count)
        return peak_live_bytes(intervals) <= level.capacity

    def has_room_without_sharing(
        self, level: Level, multibuffers: Collection[Hashable], slot_count: int
    ) -> bool:
        """
        Return `True` if all buffers that are live in the loop, and its temporaries, fit
        in a level without sharing bytes.
        """
        live = LiveBytes(self._live_intervals(level, multibuffers, slot_count))
        needed = live.total_during(self.steps[0], self.steps[1] + 1)
        return needed + self.temporary_bytes <= level.capacity

    def _live_intervals(
        self, level: Level, multibuffers: Collection[Hashable], slot_count: int
    ) -> Iterator[LiveInterval]:
        """
        Yield start, end and bytes of each buffer in a level. Multi-buffers have
        `slot_count` slots, live throughout the loop.
        """
        if level.name not in self._buffers_by_level:
            self._buffers_by_level[level.name] = self.collect_buffers(level.name)
        for buffer in self._buffers_by_level[level.name]:
            size = align_offset(buffer.bytes, level.alignment) * buffer.copy_count
            steps = buffer.steps
            if buffer.identity in multibuffers:
                size, steps = size * slot_count, self.steps
            if steps is not None:
                yield steps[0], steps[1] + 1, size
