"""
Cost model of initial semaphore credits: signals for the first use of each buffer of an
NPU program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    Item,
    Nest,
    instructions_in,
)

Stream: TypeAlias = tuple[int, int]
"""An engine, and a prefetch distance in iterations."""

Uses: TypeAlias = dict[Stream, dict[Buffer, list[tuple[BufferAccess, bool]]]]
"""Accesses of each stream by buffer, with `True` for writes."""

Done: TypeAlias = dict[Stream, int]
"""
Position of the last item of a body that each other stream is known to have completed;
items of earlier iterations are negative.
"""


@dataclass
class Credits:
    """Cross-iteration dependences of a nest that need initial semaphore credits."""

    nest: Nest
    total: int = 0
    """Number of initial signals."""
    _items: list[Uses] = field(default_factory=list[Uses])
    _known: dict[Stream, Done] = field(default_factory=dict[Stream, Done])
    """Items that each stream knows to be complete."""
    _after: dict[tuple[int, Stream], Done] = field(
        default_factory=dict[tuple[int, Stream], Done]
    )
    """Items that a stream knows to be complete after an item."""
    _edges: dict[tuple[int, Stream], list[tuple[int, Stream]]] = field(
        default_factory=dict[tuple[int, Stream], list[tuple[int, Stream]]]
    )
    """Items of the same iteration that an item waits for."""

    @staticmethod
    def of(nest: Nest) -> int:
        """Return the number of initial signals for the iterations of a nest."""
        credits = Credits(nest)
        credits._items = [_uses_of(item) for item in nest.body]
        credits._propagate_order()
        credits._count_carried_waits()
        return credits.total

    def _propagate_order(self) -> None:
        """Propagate the order of items within an iteration."""
        for index, uses in enumerate(self._items):
            for waiting in uses:
                done = self._known.setdefault(waiting, {})
                for position, stream in self._earlier_items(index - 1, waiting):
                    if done.get(stream, -1) < position and _is_conflict(
                        self._items[position][stream], uses[waiting]
                    ):
                        edge = position, stream
                        self._edges.setdefault((index, waiting), []).append(edge)
                        _merge_known(done, self._after[edge], stream, position)
            for stream in uses:
                self._after[index, stream] = dict(self._known[stream])

    def _count_carried_waits(self) -> None:
        """Count the waits of later iterations."""
        count = len(self._items)
        known = {
            stream: _shift_positions(done, count)
            for stream, done in self._known.items()
        }
        after: dict[tuple[int, Stream], Done] = {}
        for index, uses in enumerate(self._items):
            for waiting in uses:
                done = known[waiting]
                for position, stream in self._edges.get((index, waiting), ()):
                    _merge_known(done, after[position, stream], stream, position)
                for iterations in range(1, self.nest.slots + 1):
                    self._add_wait(index, waiting, done, iterations)
            for stream in uses:
                after[index, stream] = dict(known[stream])

    def _add_wait(
        self, number: int, waiting: Stream, done: Done, iterations: int
    ) -> None:
        """Count the waits of an item for items `iterations` iterations earlier."""
        count = len(self._items)
        own = {
            buffer: accesses
            for buffer, accesses in self._items[number][waiting].items()
            if buffer.home is self.nest and buffer.multibuffer_count == iterations
        }
        for position, stream in self._earlier_items(count - 1, waiting) if own else ():
            time = position - iterations * count
            if done.get(stream, time - 1) < time and _is_conflict(
                self._items[position][stream], own
            ):
                self.total += iterations
                before = _shift_positions(
                    self._after[position, stream], iterations * count
                )
                _merge_known(done, before, stream, time)

    def _earlier_items(
        self, last: int, waiting: Stream
    ) -> Iterator[tuple[int, Stream]]:
        """
        Yield the items up to `last`, last first, with the streams of other engines in
        them.
        """
        for position in range(last, -1, -1):
            for stream in self._items[position]:
                if stream[0] != waiting[0]:
                    yield position, stream


def _uses_of(item: Item) -> Uses:
    found: Uses = {}
    for step in instructions_in([item]):
        for access, writes in step.accesses:
            uses = found.setdefault((step.queue, step.ahead), {})
            uses.setdefault(access.buffer, []).append((access, writes))
    return found


def _is_conflict(
    earlier: dict[Buffer, list[tuple[BufferAccess, bool]]],
    later: dict[Buffer, list[tuple[BufferAccess, bool]]],
) -> bool:
    """
    Return `True` if two uses conflict: one of them writes a buffer that the other
    accesses.
    """
    return any(
        (writes or wrote) and access.can_alias(other)
        for buffer in earlier.keys() & later.keys()
        for access, writes in earlier[buffer]
        for other, wrote in later[buffer]
    )


def _merge_known(done: Done, other: Done, stream: Stream, position: int) -> None:
    """Add the items that another stream knows to be complete after an item."""
    for each, known in other.items():
        done[each] = max(done.get(each, known), known)
    done[stream] = max(done.get(stream, position), position)


def _shift_positions(done: Done, count: int) -> Done:
    """Return the known items with their positions moved back by `count` items."""
    return {stream: position - count for stream, position in done.items()}


def credits_of(nests: Iterable[Nest]) -> int:
    """Return the number of initial signals for the iterations of nests."""
    return sum(map(Credits.of, nests))
