"""Ordering within one execution of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from xdsl.dialects import scf

from tlf.lowering.mem_to_npu.dependences import Item, Leaf, Stream, Touch
from tlf.lowering.mem_to_npu.edges import Done, Edge, check_ahead, is_ordered, merge
from tlf.lowering.mem_to_npu.paces import Chunked, LoadInChunks, StoreInChunks


@dataclass
class Forward:
    """The order within one execution of a block."""

    items: list[Item]
    loops: Sequence[scf.ForOp]
    """The loops around the block."""
    edges: list[Edge] = field(default_factory=list[Edge])
    known: dict[Stream, Done] = field(default_factory=dict[Stream, Done])
    """Progress of other streams that each stream knows of at the end of the block."""
    after: dict[tuple[int, Stream], Done] = field(
        default_factory=dict[tuple[int, Stream], Done]
    )
    """Progress of other streams that a stream knows of once it is past an item."""
    chunked: list[Chunked] = field(default_factory=list[Chunked])
    """Waits of streams chunk by chunk."""

    def run(self) -> None:
        for number, item in enumerate(self.items):
            for waiting in item.leaves:
                for leaves, late in item.turns(waiting):
                    self._wait(number, waiting, leaves, late)
            for each in self.chunked:
                if each.before == number and each.whole:
                    self._learn(self.known[each.waiting], each.stream, each.after)
            for stream in item.leaves:
                self.after[number, stream] = dict(self.known.get(stream, {}))

    def _wait(
        self, number: int, waiting: Stream, leaves: list[Leaf], late: bool
    ) -> None:
        done = self.known.setdefault(waiting, {})
        for position in range(number - 1, -1, -1):
            item = self.items[position]
            for stream, producers in item.leaves.items():
                if is_ordered(stream, waiting) or done.get(stream, -1) >= position:
                    continue
                if not self._conflict(producers, leaves):
                    continue
                if chunks := self._chunked(position, stream, number, waiting):
                    self.chunked.append(chunks)
                    continue
                check_ahead(self.items[number], stream, waiting, 0)
                edge = Edge(stream, position, waiting, number, late=late)
                self.edges.append(edge)
                self._learn(done, stream, position)

    def _learn(self, done: Done, stream: Stream, position: int) -> None:
        """Add what is known once another stream is known to be past an item."""
        merge(done, self.after[position, stream], 0)
        done[stream] = max(position, done.get(stream, position))

    def _conflict(self, producers: list[Leaf], consumers: list[Leaf]) -> bool:
        return any(True for _ in self._meeting(producers, consumers))

    def _meeting(
        self, producers: list[Leaf], consumers: list[Leaf]
    ) -> Iterator[tuple[Leaf, Leaf, Touch]]:
        """
        Yield the pairs of dependent instructions that the program orders, with the
        touch of the later one.
        """
        for producer, consumer in product(producers, consumers):
            if producer.orders(consumer):
                for _, touch in producer.meeting(consumer, self.loops, 0):
                    yield producer, consumer, touch

    def _chunked(
        self, position: int, stream: Stream, number: int, waiting: Stream
    ) -> Chunked | None:
        """
        Return the waits chunk by chunk, if one of two loops does nothing but move
        chunks; `None` otherwise.
        """
        item, later = self.items[position], self.items[number]
        if not isinstance(item.op, scf.ForOp) or not isinstance(later.op, scf.ForOp):
            return None
        if list(item.leaves) == [stream]:
            find: type[LoadInChunks | StoreInChunks] = LoadInChunks
        elif list(later.leaves) == [waiting]:
            find = StoreInChunks
        else:
            return None
        leaves = item.leaves[stream]
        pairs = list(self._meeting(leaves, later.leaves[waiting]))
        if any(touch.writes for _, _, touch in pairs):
            return None
        found = find.of([pair[:2] for pair in pairs], item.op, later.op)
        if found is None:
            return None
        last = max(leaves, key=lambda leaf: leaf.step)
        whole = last.op is found.earlier
        return Chunked(stream, position, waiting, number, found, whole)
