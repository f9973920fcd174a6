"""
Cost model of semaphores, on its schedule instead of IR: signals and waits between the
items of a body, and initial credits for the first use of each buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    Item,
    Nest,
    instructions_in,
)
from tlf.planner.cost.program.slot_restarts import restarting_nest_of

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
class NestCredits:
    """Dependences between the items of a nest, and those that need initial credits."""

    nest: Nest
    signal_count: int = 0
    """Number of initial signals."""
    carried_edges: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Positions of items and of those of a later iteration that wait for them."""
    _uses_by_item: list[Uses] = field(default_factory=list[Uses])
    _complete_by_stream: dict[Stream, Done] = field(default_factory=dict[Stream, Done])
    """Items that each stream knows to be complete."""
    _complete_after_item: dict[tuple[int, Stream], Done] = field(
        default_factory=dict[tuple[int, Stream], Done]
    )
    """Items that a stream knows to be complete after an item."""
    _waited_items: dict[tuple[int, Stream], list[tuple[int, Stream]]] = field(
        default_factory=dict[tuple[int, Stream], list[tuple[int, Stream]]]
    )
    """Items of the same iteration that an item waits for."""

    @staticmethod
    def count_for_nest(nest: Nest) -> int:
        """Return the number of initial signals for the iterations of a nest."""
        credits = NestCredits(nest)
        credits._uses_by_item = [_uses_of_item(item) for item in nest.body]
        credits._propagate_iteration_order()
        credits._count_carried_waits()
        return credits.signal_count

    @staticmethod
    def find_sync_edges(
        nest: Nest, sharing: Mapping[Buffer, Sequence[Buffer]]
    ) -> list[tuple[int, int]]:
        """
        Return the positions of items that signal and of those that wait, once for each
        pair of engines; buffers of `sharing` share bytes with others.
        """
        credits, tokens = NestCredits(nest), _SharedBytes(nest, sharing)
        credits._uses_by_item = [
            tokens.add_shared_bytes_to(_uses_of_item(item), item) for item in nest.body
        ]
        credits._propagate_iteration_order()
        credits._count_carried_waits()
        edges = [
            (position, index)
            for (index, _), waited in credits._waited_items.items()
            for position, _ in waited
        ]
        return edges + credits.carried_edges

    def _propagate_iteration_order(self) -> None:
        """Record items of one iteration that each waits for or knows to be complete."""
        for index, uses in enumerate(self._uses_by_item):
            for waiting in uses:
                done = self._complete_by_stream.setdefault(waiting, {})
                for position, stream in self._earlier_items_with_streams(
                    index - 1, waiting
                ):
                    if done.get(stream, -1) < position and _has_conflict(
                        self._uses_by_item[position][stream], uses[waiting]
                    ):
                        edge = position, stream
                        self._waited_items.setdefault((index, waiting), []).append(edge)
                        _merge_complete_items(
                            done, self._complete_after_item[edge], stream, position
                        )
            for stream in uses:
                self._complete_after_item[index, stream] = dict(
                    self._complete_by_stream[stream]
                )

    def _count_carried_waits(self) -> None:
        """Add the signals for waits for earlier iterations to `signal_count`."""
        count = len(self._uses_by_item)
        known = {
            stream: _shift_back_complete_items(done, count)
            for stream, done in self._complete_by_stream.items()
        }
        after: dict[tuple[int, Stream], Done] = {}
        for index, uses in enumerate(self._uses_by_item):
            for waiting in uses:
                done = known[waiting]
                for position, stream in self._waited_items.get((index, waiting), ()):
                    _merge_complete_items(
                        done, after[position, stream], stream, position
                    )
                for iterations in range(1, self.nest.slot_count + 1):
                    self._count_waits_of_item(index, waiting, done, iterations)
            for stream in uses:
                after[index, stream] = dict(known[stream])

    def _count_waits_of_item(
        self, item_index: int, waiting_stream: Stream, complete: Done, distance: int
    ) -> None:
        """Count the waits of an item for items `distance` iterations earlier."""
        count = len(self._uses_by_item)
        own = {
            buffer: accesses
            for buffer, accesses in self._uses_by_item[item_index][
                waiting_stream
            ].items()
            if buffer.allocation_nest is self.nest
            and buffer.multibuffer_count == distance
        }
        for position, stream in (
            self._earlier_items_with_streams(count - 1, waiting_stream) if own else ()
        ):
            time = position - distance * count
            if complete.get(stream, time - 1) < time and _has_conflict(
                self._uses_by_item[position][stream], own
            ):
                self.signal_count += distance
                self.carried_edges.append((position, item_index))
                before = _shift_back_complete_items(
                    self._complete_after_item[position, stream], distance * count
                )
                _merge_complete_items(complete, before, stream, time)

    def _earlier_items_with_streams(
        self, last_index: int, waiting_stream: Stream
    ) -> Iterator[tuple[int, Stream]]:
        """
        Yield the items up to `last_index`, last first, with the streams of other
        engines in them.
        """
        for position in range(last_index, -1, -1):
            for stream in self._uses_by_item[position]:
                if stream[0] != waiting_stream[0]:
                    yield position, stream


@dataclass
class _SharedBytes:
    """
    Buffers that stand for the bytes that two buffers, or two executions of an item,
    share.
    """

    nest: Nest
    sharing: Mapping[Buffer, Sequence[Buffer]]
    _tokens: dict[frozenset[Buffer], Buffer] = field(
        default_factory=dict[frozenset[Buffer], Buffer]
    )

    def add_shared_bytes_to(self, uses: Uses, item: Item) -> Uses:
        """Add uses of shared bytes to the uses of an item, and return them."""
        for accesses in uses.values():
            for buffer, known in list(accesses.items()):
                others = list(self.sharing.get(buffer, ()))
                if restarting_nest_of(buffer) is item:
                    others.append(buffer)
                for other in others:
                    token = self._tokens.setdefault(
                        frozenset((buffer, other)), Buffer(buffer.level, 0, self.nest)
                    )
                    writes = {is_write for _, is_write in known}
                    accesses[token] = [(BufferAccess(token), each) for each in writes]
        return uses


def _uses_of_item(item: Item) -> Uses:
    """
    Return the accesses of all instructions in an item, by engine and prefetch distance,
    then by buffer.
    """
    found: Uses = {}
    for step in instructions_in([item]):
        for access, writes in step.accesses:
            uses = found.setdefault((step.queue, step.prefetch_distance), {})
            uses.setdefault(access.buffer, []).append((access, writes))
    return found


def _has_conflict(
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


def _merge_complete_items(
    complete: Done, other_complete: Done, stream: Stream, position: int
) -> None:
    """Add the items that another stream knows to be complete after an item."""
    for each, known in other_complete.items():
        complete[each] = max(complete.get(each, known), known)
    complete[stream] = max(complete.get(stream, position), position)


def _shift_back_complete_items(complete: Done, count: int) -> Done:
    """Return the known items with their positions moved back by `count` items."""
    return {stream: position - count for stream, position in complete.items()}


def count_initial_credits(nests: Iterable[Nest]) -> int:
    """Return the number of initial signals for the iterations of nests."""
    return sum(
        NestCredits.count_for_nest(each) for each in nests if not each.is_core_region
    )
