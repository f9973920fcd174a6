"""
Program of the event simulation with numbered entries: the time of the last access to
each slot of each buffer, by engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from tlf.machine.instruction_costs import Cost

Buffer: TypeAlias = Hashable


class Task(NamedTuple):
    """An instruction and the buffers that it accesses."""

    cost: Cost
    reads: tuple[Buffer, ...] = ()
    writes: tuple[Buffer, ...] = ()
    prefetch_distance: int = 0
    """Prefetch distance: the number of iterations by which it is issued early."""


class Loop(NamedTuple):
    """
    `trips` iterations of a body. Each iteration uses the next of `slot_count` slots of
    the buffers in `multi_buffers`.
    """

    trips: int
    body: tuple[Task | Loop, ...]
    multi_buffers: frozenset[Buffer] = frozenset()
    slot_count: int = 1


Item: TypeAlias = Task | Loop

Entry: TypeAlias = tuple[int, int]
"""A buffer, and the position of an entry among those of one of its slots."""


class EventTask(NamedTuple):
    """A `Task` with the entries of its accesses."""

    cost: Cost
    awaited: tuple[Entry, ...]
    """Conflicting accesses by other engines."""
    accessed: tuple[Entry, ...]
    """Accesses of the task."""
    prefetch_distance: int


class EventLoop(NamedTuple):
    """A `Loop` whose body is divided into runs of equal prefetch distance."""

    trips: int
    body: tuple[tuple[int, tuple[EventTask | EventLoop, ...]], ...]
    """Pairs of a prefetch distance and the items in sequence that have it."""
    multi_buffers: tuple[tuple[int, int, int], ...]
    """Each buffer with its first entry, and the number of entries per slot."""
    slot_count: int
    prefetch_distance: int = 0

    @property
    def max_prefetch_distance(self) -> int:
        """Maximum prefetch distance of the tasks in the body."""
        return max((distance for distance, _ in self.body), default=0)


EventItem: TypeAlias = EventTask | EventLoop


@dataclass
class _BufferEntries:
    """Entries of one slot of a buffer: one for each engine that writes, and reads."""

    index: int
    slot_count: int = 1
    writers: dict[int, int] = field(default_factory=dict[int, int])
    readers: dict[int, int] = field(default_factory=dict[int, int])
    """Positions in the slot, by engine."""

    @property
    def width(self) -> int:
        """Number of entries of a slot."""
        return len(self.writers) + len(self.readers)

    def add_access(self, entries: dict[int, int], queue: int) -> None:
        """Add the entry of an engine to `entries`, which are those of one kind."""
        if queue not in entries:
            entries[queue] = self.width


class EventProgram:
    """Items with numbered entries; only engines that access a buffer have entries."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._buffers: dict[Buffer, _BufferEntries] = {}
        self._add_accesses(items)
        self.first_entries: list[int] = []
        """Index of the first entry of each buffer, by number of the buffer."""
        self.entry_count = 0
        for each in self._buffers.values():
            self.first_entries.append(self.entry_count)
            self.entry_count += each.slot_count * each.width
        self.items = tuple(map(self._index_item, items))

    def _entries_of(self, buffer: Buffer) -> _BufferEntries:
        if (known := self._buffers.get(buffer)) is None:
            known = self._buffers[buffer] = _BufferEntries(len(self._buffers))
        return known

    def _add_accesses(self, items: Iterable[Item]) -> None:
        """Add the entries that items access, and the slots of their loops."""
        for item in items:
            if isinstance(item, Loop):
                self._add_accesses(item.body)
                for buffer in item.multi_buffers:
                    entries = self._entries_of(buffer)
                    entries.slot_count = max(entries.slot_count, item.slot_count)
                continue
            for buffer in item.reads:
                entries = self._entries_of(buffer)
                entries.add_access(entries.readers, item.cost.queue)
            for buffer in item.writes:
                entries = self._entries_of(buffer)
                entries.add_access(entries.writers, item.cost.queue)

    def _index_item(self, item: Item) -> EventItem:
        return (
            self._index_task(item) if isinstance(item, Task) else self._index_loop(item)
        )

    def _index_task(self, task: Task) -> EventTask:
        queue = task.cost.queue
        reads = [self._buffers[each] for each in task.reads]
        writes = [self._buffers[each] for each in task.writes]
        awaited = dict.fromkeys(
            [
                *_entries_of_others(queue, ((b.index, b.writers) for b in reads)),
                *_entries_of_others(queue, ((b.index, b.writers) for b in writes)),
                *_entries_of_others(queue, ((b.index, b.readers) for b in writes)),
            ]
        )
        accessed = dict.fromkeys(
            [
                *((each.index, each.readers[queue]) for each in reads),
                *((each.index, each.writers[queue]) for each in writes),
            ]
        )
        return EventTask(
            task.cost, tuple(awaited), tuple(accessed), task.prefetch_distance
        )

    def _index_loop(self, loop: Loop) -> EventLoop:
        items = map(self._index_item, loop.body)
        runs = groupby(items, key=attrgetter("prefetch_distance"))
        buffers = (self._buffers[each] for each in loop.multi_buffers)
        return EventLoop(
            loop.trips,
            tuple((distance, tuple(run)) for distance, run in runs),
            tuple((b.index, self.first_entries[b.index], b.width) for b in buffers),
            loop.slot_count,
        )


def _entries_of_others(
    queue: int, entries_by_buffer: Iterable[tuple[int, dict[int, int]]]
) -> Iterator[Entry]:
    """Yield the entries of buffers that belong to other engines than `queue`."""
    for buffer, entries in entries_by_buffer:
        for engine, position in entries.items():
            if engine != queue:
                yield buffer, position
