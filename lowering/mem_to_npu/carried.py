"""Loop-carried ordering between instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation

from tlf.dialects import npu
from tlf.lowering.mem_to_npu.dependences import Item, Leaf, Stream, Touch
from tlf.lowering.mem_to_npu.edges import Done, Edge, check_ahead, is_ordered, merge
from tlf.lowering.mem_to_npu.forward import Forward


@dataclass
class Carried:
    """The order from one iteration of a loop to later ones."""

    items: list[Item]
    forward: Forward
    loops: Sequence[scf.ForOp]
    """The loops around the items, outermost first."""
    spans: Mapping[Operation, tuple[int, int]]
    """The first and the last step of every loop."""
    own: frozenset[str] = frozenset()
    """The levels that every core has for itself."""
    edges: list[Edge] = field(default_factory=list[Edge])

    def run(self) -> list[Edge]:
        count, reach = len(self.items), self._reach()
        known: dict[Stream, Done] = {}
        for waiting, done in self.forward.known.items():
            merge(known.setdefault(waiting, {}), done, 1, count)
        after: dict[tuple[int, Stream], Done] = {}
        for number, item in enumerate(self.items):
            for waiting in item.leaves:
                done = known.setdefault(waiting, {})
                for leaves, late in item.turns(waiting):
                    self._learn(number, waiting, late, done, after)
                    for iterations in range(1, reach + 1):
                        self._wait(number, waiting, leaves, done, iterations, late)
            for stream in item.leaves:
                after[number, stream] = dict(known[stream])
        return self.edges

    def _learn(
        self,
        number: int,
        waiting: Stream,
        late: bool,
        done: Done,
        after: Mapping[tuple[int, Stream], Done],
    ) -> None:
        """Add what a stream knows by the waits before an item."""
        for edge in self.forward.edges:
            if (edge.before, edge.waiting, edge.late) == (number, waiting, late):
                merge(done, after[edge.after, edge.stream], 0)
                done[edge.stream] = max(done.get(edge.stream, edge.after), edge.after)

    def _wait(
        self,
        number: int,
        waiting: Stream,
        leaves: list[Leaf],
        done: Done,
        iterations: int,
        late: bool,
    ) -> None:
        count = len(self.items)
        if iterations > 1:
            # Whatever has no slots meets in the next iteration already.
            leaves = [leaf for leaf in leaves if leaf.has_slots]
        for position in range(count - 1, -1, -1) if leaves else ():
            item, time = self.items[position], position - iterations * count
            for stream, producers in item.leaves.items():
                if is_ordered(stream, waiting) or done.get(stream, time - 1) >= time:
                    continue
                if not self._conflict(producers, leaves, iterations):
                    continue
                check_ahead(self.items[number], stream, waiting, iterations)
                if stream.engine == waiting.engine:
                    continue
                edge = Edge(stream, position, waiting, number, iterations, late)
                self.edges.append(edge)
                before = self.forward.after[position, stream]
                merge(done, before, iterations, count)
                done[stream] = time

    def _reach(self) -> int:
        """After how many iterations all slots have been used."""
        return max(
            (
                slot.period(self.loops[-1])
                for item in self.items
                for leaves in item.leaves.values()
                for leaf in leaves
                for touch in leaf.touches
                for slot in touch.slots
            ),
            default=1,
        )

    def _conflict(
        self, producers: list[Leaf], consumers: list[Leaf], iterations: int
    ) -> bool:
        span = self.spans[self.loops[-1]]
        return any(
            producer.orders_next(consumer, span)
            and any(
                not self._is_ordered_inside(producer, consumer, first, second)
                for first, second in producer.meeting(consumer, self.loops, iterations)
            )
            for producer in producers
            if iterations == 1 or producer.has_slots
            for consumer in consumers
        )

    def _is_ordered_inside(
        self, producer: Leaf, consumer: Leaf, first: Touch, second: Touch
    ) -> bool:
        """Return `True` if an inner loop around both already orders them."""
        depth = len(self.loops)
        inner = zip(producer.loops[depth:], consumer.loops[depth:], strict=False)
        for number, (loop, other) in enumerate(inner, 1):
            if loop is not other:
                return False
            if self._meets_other_cores(loop, first):
                return False
            around = producer.loops[: depth + number]
            if producer.orders_next(consumer, self.spans[loop]) and first.meets_anew(
                second, around, number
            ):
                return True
        return False

    def _meets_other_cores(self, loop: scf.ForOp, touch: Touch) -> bool:
        """
        Return `True` if other cores may touch the same bytes in a loop that each core
        runs.
        """
        inside, around = False, loop.parent_op()
        while around is not None and around is not self.loops[-1]:
            inside |= isinstance(around, npu.CoresOp)
            around = around.parent_op()
        return inside and touch.extent.level not in self.own
