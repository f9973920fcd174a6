"""
Signals and waits, so that instructions that depend on each other run in order.

Engines run their own instructions in order. For everything else:

- In one block, an instruction (or loop) that depends on an earlier one of another
  engine waits for a signal that the other engine gives right after it.
- From one iteration of a loop to the next, the same, except that one signal is given at
  the start of the program, for the first iteration, and waited for at its end. This
  orders the last iteration of a loop and the first one of its next execution, too.

An order that follows from others is not built again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.dialects import npu
from tlf.lowering.npu.dependences import Item, Leaf, Tree

Done: TypeAlias = dict[str, int]
"""For an engine: up to which item every other one is known to be done."""


@dataclass(frozen=True)
class Edge:
    """
    An engine waits before an item for another engine to be past an item.
    """

    engine: str
    after: int
    waiting: str
    before: int


@dataclass
class Synchroniser:
    """
    Inserts signals and waits into a program.
    """

    tree: Tree
    program: Block
    semaphores: int = 0
    """How many semaphores are in use."""
    _carried: list[tuple[str, str, int]] = field(
        default_factory=list[tuple[str, str, int]]
    )

    def run(self) -> None:
        """Synchronise the program."""
        self._block(self.program, None)
        first, last = self.program.first_op, self.program.last_op
        assert first is not None
        assert last is not None
        for engine, waiting, semaphore in self._carried:
            self.program.insert_op_before(npu.SignalOp(engine, semaphore), first)
            self.program.insert_op_before(npu.WaitOp(waiting, semaphore), last)

    def _block(self, block: Block, loop: scf.ForOp | None) -> None:
        items = self.tree.items(block)
        nested = [item.op for item in items if isinstance(item.op, scf.ForOp)]
        forward = _Forward(items)
        forward.run()
        carried: list[Edge] = []
        if loop is not None:
            carried = _Carried(items, forward, loop, self.tree.spans).run()
        self._insert(block, items, forward.edges, carried)
        for each in nested:
            self._block(each.body.block, each)

    def _insert(
        self, block: Block, items: list[Item], forward: list[Edge], carried: list[Edge]
    ) -> None:
        # Signals and waits of one pair of engines come in the same order, so that one
        # semaphore does for all of a block.
        shared: dict[tuple[str, str], int] = {}
        for edge in forward:
            pair = edge.engine, edge.waiting
            if pair not in shared:
                shared[pair] = self._new()
            self._place(block, items, edge, shared[pair])
        for edge in carried:
            semaphore = self._new()
            self._carried.append((edge.engine, edge.waiting, semaphore))
            self._place(block, items, edge, semaphore)

    def _place(
        self, block: Block, items: list[Item], edge: Edge, semaphore: int
    ) -> None:
        signal = npu.SignalOp(edge.engine, semaphore)
        wait = npu.WaitOp(edge.waiting, semaphore)
        block.insert_op_after(signal, items[edge.after].op)
        block.insert_op_before(wait, items[edge.before].op)

    def _new(self) -> int:
        self.semaphores += 1
        return self.semaphores - 1


def _last_conflict(
    item: Item, engine: str, leaves: list[Leaf], valid: Callable[[Leaf, Leaf], bool]
) -> bool:
    """Whether an engine's instructions of an item must come before some others."""
    return any(
        producer.conflicts(consumer) and valid(producer, consumer)
        for producer in item.leaves.get(engine, ())
        for consumer in leaves
    )


@dataclass
class _Forward:
    """The order within one execution of a block."""

    items: list[Item]
    edges: list[Edge] = field(default_factory=list[Edge])
    known: dict[str, Done] = field(default_factory=dict[str, Done])
    """What every engine knows at the end of the block."""
    after: dict[tuple[int, str], Done] = field(
        default_factory=dict[tuple[int, str], Done]
    )
    """What an engine knows once it is past an item."""

    def run(self) -> None:
        for number, item in enumerate(self.items):
            for waiting, leaves in item.leaves.items():
                self._wait(number, waiting, leaves)
            for engine in item.leaves:
                self.after[number, engine] = dict(self.known.get(engine, {}))

    def _wait(self, number: int, waiting: str, leaves: list[Leaf]) -> None:
        done = self.known.setdefault(waiting, {})
        for position in range(number - 1, -1, -1):
            item = self.items[position]
            for engine in item.leaves:
                if engine == waiting or done.get(engine, -1) >= position:
                    continue
                if _last_conflict(item, engine, leaves, Leaf.orders):
                    self.edges.append(Edge(engine, position, waiting, number))
                    merge(done, self.after[position, engine])
                    done[engine] = position


def merge(done: Done, other: Done) -> None:
    """
    Add what another engine knew.
    """
    for engine, position in other.items():
        done[engine] = max(done.get(engine, -1), position)


@dataclass
class _Carried:
    """The order from one iteration of a loop to the next."""

    items: list[Item]
    forward: _Forward
    loop: scf.ForOp
    spans: Mapping[Operation, tuple[int, int]]
    """The first and the last step of every loop."""
    edges: list[Edge] = field(default_factory=list[Edge])

    def run(self) -> list[Edge]:
        # What every engine knows of the previous iteration.
        known = {engine: dict(done) for engine, done in self.forward.known.items()}
        after: dict[tuple[int, str], Done] = {}
        for number, item in enumerate(self.items):
            for waiting, leaves in item.leaves.items():
                done = known.setdefault(waiting, {})
                for edge in self.forward.edges:
                    if edge.before == number and edge.waiting == waiting:
                        merge(done, after[edge.after, edge.engine])
                        done[edge.engine] = len(self.items)
                self._wait(number, waiting, leaves, done)
            for engine in item.leaves:
                after[number, engine] = dict(known[engine])
        return self.edges

    def _wait(self, number: int, waiting: str, leaves: list[Leaf], done: Done) -> None:
        for position in range(len(self.items) - 1, -1, -1):
            item = self.items[position]
            for engine in item.leaves:
                if engine == waiting or done.get(engine, -1) >= position:
                    continue
                if _last_conflict(item, engine, leaves, self._orders):
                    self.edges.append(Edge(engine, position, waiting, number))
                    merge(done, self.forward.after[position, engine])
                    done[engine] = position

    def _orders(self, producer: Leaf, consumer: Leaf) -> bool:
        if not producer.orders_next(consumer, self.spans[self.loop]):
            return False
        # Instructions of one inner loop are ordered there.
        depth = producer.loops.index(self.loop) + 1
        inner = zip(producer.loops[depth:], consumer.loops[depth:], strict=False)
        for loop, other in inner:
            if loop is not other:
                break
            if producer.orders_next(consumer, self.spans[loop]):
                return False
        return True
