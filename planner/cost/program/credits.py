"""Initial semaphore credits of a program: signals for the first use of each buffer."""

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
"""An engine, and how many iterations ahead it is."""

Uses: TypeAlias = dict[Stream, dict[Buffer, list[tuple[BufferAccess, bool]]]]
"""Accesses of each stream, by buffers, with `True` for writes."""

Done: TypeAlias = dict[Stream, int]
"""
Up to which item of a body every other stream is known to be done; items of earlier
iterations are negative.
"""


@dataclass
class Credits:
    """Cross-iteration dependences of a nest that need initial semaphore credits."""

    nest: Nest
    total: int = 0
    """The signals for all of that."""
    _items: list[Uses] = field(default_factory=list[Uses])
    _known: dict[Stream, Done] = field(default_factory=dict[Stream, Done])
    """The items that every stream knows to be done."""
    _after: dict[tuple[int, Stream], Done] = field(
        default_factory=dict[tuple[int, Stream], Done]
    )
    """The items that a stream knows to be done once it is past an item."""
    _edges: dict[tuple[int, Stream], list[tuple[int, Stream]]] = field(
        default_factory=dict[tuple[int, Stream], list[tuple[int, Stream]]]
    )
    """The items of the same iteration that an item waits for."""

    @staticmethod
    def of(nest: Nest) -> int:
        """The signals for the iterations of a nest."""
        credits = Credits(nest)
        credits._items = [_uses_of(item) for item in nest.body]
        credits._propagate_order()
        credits._count_carried_waits()
        return credits.total

    def _propagate_order(self) -> None:
        """Find what an iteration puts in order."""
        for number, uses in enumerate(self._items):
            for waiting in uses:
                done = self._known.setdefault(waiting, {})
                for position, stream in self._earlier_items(number - 1, waiting):
                    if done.get(stream, -1) < position and _is_conflict(
                        self._items[position][stream], uses[waiting]
                    ):
                        edge = position, stream
                        self._edges.setdefault((number, waiting), []).append(edge)
                        _merge_known(done, self._after[edge], stream, position)
            for stream in uses:
                self._after[number, stream] = dict(self._known[stream])

    def _count_carried_waits(self) -> None:
        """Count what later iterations wait for."""
        count = len(self._items)
        known = {
            stream: _shift_positions(done, count)
            for stream, done in self._known.items()
        }
        after: dict[tuple[int, Stream], Done] = {}
        for number, uses in enumerate(self._items):
            for waiting in uses:
                done = known[waiting]
                for position, stream in self._edges.get((number, waiting), ()):
                    _merge_known(done, after[position, stream], stream, position)
                for iterations in range(1, self.nest.slots + 1):
                    self._add_wait(number, waiting, done, iterations)
            for stream in uses:
                after[number, stream] = dict(known[stream])

    def _add_wait(
        self, number: int, waiting: Stream, done: Done, iterations: int
    ) -> None:
        """Count what an item waits for of so many iterations before."""
        count = len(self._items)
        own = {
            buffer: found
            for buffer, found in self._items[number][waiting].items()
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
        """The items up to one, and what of them another engine does, the last first."""
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
    Return `True` if two uses conflict: one of them writes what the other one touches.
    """
    return any(
        (writes or wrote) and access.can_alias(other)
        for buffer in earlier.keys() & later.keys()
        for access, writes in earlier[buffer]
        for other, wrote in later[buffer]
    )


def _merge_known(done: Done, other: Done, stream: Stream, position: int) -> None:
    """Add what another stream knows once it is past an item."""
    for each, known in other.items():
        done[each] = max(done.get(each, known), known)
    done[stream] = max(done.get(stream, position), position)


def _shift_positions(done: Done, count: int) -> Done:
    """Return the known items with their positions moved back by `count` items."""
    return {stream: position - count for stream, position in done.items()}


def credits_of(nests: Iterable[Nest]) -> int:
    """The signals for the iterations of nests."""
    return sum(map(Credits.of, nests))
