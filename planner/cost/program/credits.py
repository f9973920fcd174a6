"""
The signals that a program starts with: for iterations that use a buffer for the first
time, as if an earlier one were over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.planner.cost.program.program import Access, Buffer, Item, Nest, steps_of

Stream: TypeAlias = tuple[int, int]
"""An engine, and how many iterations ahead it is."""

Uses: TypeAlias = dict[Stream, dict[Buffer, list[tuple[Access, bool]]]]
"""Accesses of each stream, by buffers, with `True` for writes."""

Done: TypeAlias = dict[Stream, int]
"""
Up to which item of a body every other stream is known to be done; items of earlier
iterations are negative.
"""


@dataclass
class Credits:
    """
    Counts what has to be in order from an iteration of a nest to later ones, and does
    not follow from the order of other things, as `lowering/mem_to_npu/carried.py` finds
    it.
    """

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
        credits._items = [_uses(item) for item in nest.body]
        credits._forward()
        credits._carried()
        return credits.total

    def _forward(self) -> None:
        """Find what an iteration puts in order."""
        for number, uses in enumerate(self._items):
            for waiting in uses:
                done = self._known.setdefault(waiting, {})
                for position, stream in self._earlier(number - 1, waiting):
                    if done.get(stream, -1) < position and _meet(
                        self._items[position][stream], uses[waiting]
                    ):
                        edge = position, stream
                        self._edges.setdefault((number, waiting), []).append(edge)
                        _learn(done, self._after[edge], stream, position)
            for stream in uses:
                self._after[number, stream] = dict(self._known[stream])

    def _carried(self) -> None:
        """Count what later iterations wait for."""
        count = len(self._items)
        known = {stream: _moved(done, count) for stream, done in self._known.items()}
        after: dict[tuple[int, Stream], Done] = {}
        for number, uses in enumerate(self._items):
            for waiting in uses:
                done = known[waiting]
                for position, stream in self._edges.get((number, waiting), ()):
                    _learn(done, after[position, stream], stream, position)
                for iterations in range(1, self.nest.slots + 1):
                    self._wait(number, waiting, done, iterations)
            for stream in uses:
                after[number, stream] = dict(known[stream])

    def _wait(self, number: int, waiting: Stream, done: Done, iterations: int) -> None:
        """Count what an item waits for of so many iterations before."""
        count = len(self._items)
        own = {
            buffer: found
            for buffer, found in self._items[number][waiting].items()
            if buffer.home is self.nest and buffer.slots == iterations
        }
        for position, stream in self._earlier(count - 1, waiting) if own else ():
            time = position - iterations * count
            if done.get(stream, time - 1) < time and _meet(
                self._items[position][stream], own
            ):
                self.total += iterations
                before = _moved(self._after[position, stream], iterations * count)
                _learn(done, before, stream, time)

    def _earlier(self, last: int, waiting: Stream) -> Iterator[tuple[int, Stream]]:
        """The items up to one, and what of them another engine does, the last first."""
        for position in range(last, -1, -1):
            for stream in self._items[position]:
                if stream[0] != waiting[0]:
                    yield position, stream


def _uses(item: Item) -> Uses:
    found: Uses = {}
    for step in steps_of([item]):
        for access, writes in step.accesses:
            uses = found.setdefault((step.queue, step.ahead), {})
            uses.setdefault(access.buffer, []).append((access, writes))
    return found


def _meet(
    earlier: dict[Buffer, list[tuple[Access, bool]]],
    later: dict[Buffer, list[tuple[Access, bool]]],
) -> bool:
    """
    Return `True` if two uses conflict: one of them writes what the other one touches.
    """
    return any(
        (writes or wrote) and access.meets(other)
        for buffer in earlier.keys() & later.keys()
        for access, writes in earlier[buffer]
        for other, wrote in later[buffer]
    )


def _learn(done: Done, other: Done, stream: Stream, position: int) -> None:
    """Add what another stream knows once it is past an item."""
    for each, known in other.items():
        done[each] = max(done.get(each, known), known)
    done[stream] = max(done.get(stream, position), position)


def _moved(done: Done, count: int) -> Done:
    """Return the known items with their positions moved back by `count` items."""
    return {stream: position - count for stream, position in done.items()}


def credits_of(nests: Iterable[Nest]) -> int:
    """The signals for the iterations of nests."""
    return sum(map(Credits.of, nests))
