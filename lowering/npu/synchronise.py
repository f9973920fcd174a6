"""
Signals and waits, so that instructions that depend on each other run in order.

Engines run their own instructions in order. For everything else:

- In one block, an instruction (or loop) that depends on an earlier one of another
  engine waits for a signal that the other engine gives right after it.
- From an iteration of a loop to one `n` later, the same, except that `n` signals are
  given at the start of the program, for the first iterations, and waited for at its
  end. `n` is 1, or more where iterations take slots of a buffer in turn. This orders
  the last iterations of a loop and the first ones of its next execution, too.

The n-th wait takes the n-th signal, wherever instructions stand: a move that is issued
some iterations ahead takes its signals and waits with it.

An order that follows from others is not built again. What is in `npu.cores` is ordered
in every core by itself; signals and waits outside of it are for all cores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import npu
from tlf.lowering.npu.dependences import Item, Leaf, Stream, Touch, Tree

Done: TypeAlias = dict[Stream, int]
"""
For a stream: up to which item every other one is known to be done. Items are counted
from the first one of this iteration on; those of earlier iterations are negative.
"""


@dataclass(frozen=True)
class Edge:
    """
    A stream waits before an item for another stream to be past an item.
    """

    stream: Stream
    after: int
    waiting: Stream
    before: int
    iterations: int = 0
    """How many iterations of the loop are between the two items."""
    late: bool = False
    """Whether what a loop issues ahead need not wait with the rest of it."""


@dataclass
class Synchroniser:
    """
    Inserts signals and waits into a program.
    """

    tree: Tree
    program: Block
    own: frozenset[str] = frozenset()
    """The levels that every core has for itself."""
    semaphores: int = 0
    """How many semaphores are in use."""
    beside: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """The signals and waits for each operation."""
    late: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """The waits before a loop that what it issues ahead goes before, in order."""
    _carried: list[tuple[Edge, int]] = field(default_factory=list[tuple[Edge, int]])

    def run(self) -> None:
        """Synchronise the program."""
        self._block(self.program, ())
        first, last = self.program.first_op, self.program.last_op
        assert first is not None
        assert last is not None
        for edge, semaphore in self._carried:
            for _ in range(edge.iterations):
                signal = npu.SignalOp(edge.stream.engine, semaphore)
                wait = npu.WaitOp(edge.waiting.engine, semaphore)
                self.program.insert_op_before(signal, first)
                self.program.insert_op_before(wait, last)

    def _block(self, block: Block, loops: tuple[scf.ForOp, ...]) -> None:
        items = self.tree.items(block)
        forward = _Forward(items, loops)
        forward.run()
        carried: list[Edge] = []
        if loops and isinstance(block.parent_op(), scf.ForOp):
            spans = self.tree.spans
            carried = _Carried(items, forward, loops, spans, self.own).run()
        self._insert(block, items, forward.edges, carried)
        for op in [item.op for item in items]:
            if isinstance(op, scf.ForOp):
                self._block(op.body.block, (*loops, op))
            elif isinstance(op, npu.CoresOp):
                self._block(op.body.block, loops)

    def _insert(
        self, block: Block, items: list[Item], forward: list[Edge], carried: list[Edge]
    ) -> None:
        # Signals and waits of one pair of streams come in the same order, so that one
        # semaphore does for all of a block.
        shared: dict[tuple[Stream, Stream, bool], int] = {}
        for edge in forward:
            pair = edge.stream, edge.waiting, edge.late
            if pair not in shared:
                shared[pair] = self._new()
            self._place(block, items, edge, shared[pair])
        for edge in carried:
            semaphore = self._new()
            self._carried.append((edge, semaphore))
            self._place(block, items, edge, semaphore)

    def _place(
        self, block: Block, items: list[Item], edge: Edge, semaphore: int
    ) -> None:
        signal = npu.SignalOp(edge.stream.engine, semaphore)
        wait = npu.WaitOp(edge.waiting.engine, semaphore)
        earlier, later = items[edge.after].op, items[edge.before].op
        block.insert_op_after(signal, earlier)
        late = self.late.setdefault(later, [])
        block.insert_op_before(wait, later if edge.late or not late else late[0])
        if edge.late:
            late.append(wait)
        self.beside.setdefault(earlier, []).append(signal)
        self.beside.setdefault(later, []).append(wait)

    def _new(self) -> int:
        self.semaphores += 1
        return self.semaphores - 1


@dataclass
class _Forward:
    """The order within one execution of a block."""

    items: list[Item]
    loops: Sequence[scf.ForOp]
    """The loops around the block."""
    edges: list[Edge] = field(default_factory=list[Edge])
    known: dict[Stream, Done] = field(default_factory=dict[Stream, Done])
    """What every stream knows at the end of the block."""
    after: dict[tuple[int, Stream], Done] = field(
        default_factory=dict[tuple[int, Stream], Done]
    )
    """What a stream knows once it is past an item."""

    def run(self) -> None:
        for number, item in enumerate(self.items):
            for waiting in item.leaves:
                for leaves, late in item.turns(waiting):
                    self._wait(number, waiting, leaves, late)
            for stream in item.leaves:
                self.after[number, stream] = dict(self.known.get(stream, {}))

    def _wait(
        self, number: int, waiting: Stream, leaves: list[Leaf], late: bool
    ) -> None:
        done = self.known.setdefault(waiting, {})
        for position in range(number - 1, -1, -1):
            item = self.items[position]
            for stream, producers in item.leaves.items():
                if _is_ordered(stream, waiting) or done.get(stream, -1) >= position:
                    continue
                if self._conflict(producers, leaves):
                    _check_ahead(self.items[number], stream, waiting, 0)
                    edge = Edge(stream, position, waiting, number, late=late)
                    self.edges.append(edge)
                    merge(done, self.after[position, stream], 0)
                    done[stream] = position

    def _conflict(self, producers: list[Leaf], consumers: list[Leaf]) -> bool:
        return any(
            producer.orders(consumer) and any(producer.meeting(consumer, self.loops, 0))
            for producer in producers
            for consumer in consumers
        )


def _is_ordered(stream: Stream, waiting: Stream) -> bool:
    """Whether one engine works on both, and in their order."""
    return stream.engine == waiting.engine and stream.ahead >= waiting.ahead


def _check_ahead(item: Item, stream: Stream, waiting: Stream, iterations: int) -> None:
    """Whether a move may start before what it follows."""
    if not waiting.ahead or stream.ahead:
        return
    op, (leaf,) = item.op, item.leaves[waiting]
    if iterations <= leaf.ahead:
        message = (
            f"mem.dma: expected a move that can start {leaf.ahead} iterations ahead, "
            f"got one that follows what is done {iterations} before its own"
        )
        op.emit_error(message, PassFailedException(message))


def merge(done: Done, other: Done, iterations: int, items: int = 0) -> None:
    """
    Add what another stream knew some iterations ago, in a block of so many items.
    """
    for stream, position in other.items():
        moved = position - iterations * items
        done[stream] = max(done.get(stream, moved), moved)


@dataclass
class _Carried:
    """The order from one iteration of a loop to later ones."""

    items: list[Item]
    forward: _Forward
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
                if _is_ordered(stream, waiting) or done.get(stream, time - 1) >= time:
                    continue
                if not self._conflict(producers, leaves, iterations):
                    continue
                _check_ahead(self.items[number], stream, waiting, iterations)
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
        """Whether an inner loop around both orders them."""
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
        """Whether other cores may touch the same in a loop that each runs."""
        inside, around = False, loop.parent_op()
        while around is not None and around is not self.loops[-1]:
            inside |= isinstance(around, npu.CoresOp)
            around = around.parent_op()
        return inside and touch.extent.level not in self.own
