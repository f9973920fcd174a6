"""
Dependences between instructions of different engines that touch the same bytes, with at
least one write.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.slots import Slot
from tlf.lowering.mem_to_npu.views import Extent


@dataclass(frozen=True)
class Touch:
    """
    The buffer that an instruction reads or writes, or parts of it.
    """

    extent: Extent
    writes: bool
    slots: tuple[Slot, ...] = ()

    def meets(
        self, later: "Touch", loops: Sequence[scf.ForOp], iterations: int
    ) -> bool:
        """
        Return `True` if this and `later`, `iterations` iterations of the last of
        `loops` after it, may touch the same bytes, with at least one write. `loops` are
        those around both, outermost first.
        """
        if not (self.writes or later.writes) or not self.extent.overlaps(later.extent):
            return False
        return not any(
            mine.is_apart(theirs, loops, iterations)
            for mine, theirs in self._pairs(later)
        )

    def meets_anew(
        self, later: "Touch", loops: Sequence[scf.ForOp], inner: int
    ) -> bool:
        """
        Return `True` if the answer of `meets` for the last of `loops` also holds across
        the ends of its executions. It is the `inner`-th loop inside the one that runs
        again.
        """
        return all(
            mine.continues(loops[-inner - 1 :])
            for mine, theirs in self._pairs(later)
            if mine.is_apart(theirs, loops, 0) is not None
        )

    def _pairs(self, later: "Touch") -> Iterator[tuple[Slot, Slot]]:
        """The parts of the same buffer that the two are in."""
        if self.extent == later.extent:
            yield from product(self.slots, later.slots)


class Stream(NamedTuple):
    """Instructions of one engine that keep their order."""

    engine: str
    ahead: bool = False
    """True if the instructions belong to later iterations than those around them."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """
    One instruction: its engine, the buffers it touches, its place in the program.
    """

    op: npu.EngineOp
    engine: str
    touches: tuple[Touch, ...]
    step: int
    loops: tuple[scf.ForOp, ...]
    """The loops around it, outermost first."""
    waits: tuple[int, ...] | None
    """For a move: the steps of the waits for it."""
    ahead: int = 0
    """Number of iterations by which it is issued early."""
    move: mem.Move | None = None
    """The move that it was lowered from, if any."""

    @property
    def has_slots(self) -> bool:
        """True if the slots that this touches are known for some buffer."""
        return any(touch.slots for touch in self.touches)

    def meeting(
        self, later: "Leaf", loops: Sequence[scf.ForOp], iterations: int
    ) -> Iterator[tuple[Touch, Touch]]:
        """
        Yield the pairs of touches, of this and of `later`, that meet according to
        `Touch.meets`.
        """
        for mine in self.touches:
            for theirs in later.touches:
                if mine.meets(theirs, loops, iterations):
                    yield mine, theirs

    def orders(self, later: "Leaf") -> bool:
        """
        Return `True` if the program orders `later` after this within one iteration.

        A move is complete only for what stands after a wait for it.
        """
        if self.waits is None:
            return True
        return any(self.step < wait < later.step for wait in self.waits)

    def orders_next(self, following: "Leaf", span: tuple[int, int]) -> bool:
        """
        Return `True` if the program orders `following` of the next iteration after
        this.

        `span` are the first and the last step of the loop.
        """
        if self.waits is None:
            return True
        inside = [wait for wait in self.waits if span[0] <= wait <= span[1]]
        return any(wait > self.step or wait < following.step for wait in inside)


@dataclass
class Item:
    """
    An operation of a block with instructions in it: itself, or a loop over some.
    """

    op: Operation
    leaves: dict[Stream, list[Leaf]] = field(default_factory=dict[Stream, list[Leaf]])
    """The instructions by engine."""

    @property
    def ahead(self) -> set[str]:
        """The engines that a loop issues some of its instructions ahead for."""
        return {
            stream.engine
            for stream, leaves in self.leaves.items()
            if any(leaf.ahead and leaf.loops[-1:] == (self.op,) for leaf in leaves)
        }

    def turns(self, stream: Stream) -> Iterator[tuple[list[Leaf], bool]]:
        """
        The instructions of a stream that wait together, and whether they come after
        others: after what a loop issues ahead of all its iterations.
        """
        leaves = self.leaves[stream]
        first = [
            leaf for leaf in leaves if leaf.ahead and leaf.loops[-1:] == (self.op,)
        ]
        rest = [leaf for leaf in leaves if leaf not in first]
        if first:
            yield first, False
        if rest:
            yield rest, bool(first)


@dataclass
class Tree:
    """
    The instructions of a program, by block.
    """

    touches: Mapping[Operation, Sequence[Touch]]
    """The buffers that each instruction touches."""
    moves: Mapping[mem.Move, Sequence[npu.DmaOp]]
    """The instructions for each move."""
    ahead: Mapping[npu.EngineOp, int]
    """Number of iterations by which some instructions are issued early."""
    leaves: dict[Operation, Leaf] = field(default_factory=dict[Operation, Leaf])
    spans: dict[Operation, tuple[int, int]] = field(
        default_factory=dict[Operation, tuple[int, int]]
    )

    def build(self, block: Block) -> None:
        """Number the operations of a program and collect its instructions."""
        waits: dict[Operation, list[int]] = {
            each: [] for moves in self.moves.values() for each in moves
        }
        order = list(block.walk())
        steps = {op: step for step, op in enumerate(order)}
        for op in order:
            last = op
            while last.regions and (inner := last.regions[0].block.last_op):
                last = inner
            self.spans[op] = steps[op], steps[last]
            if isinstance(op, mem.WaitOp):
                for move in self._moves_of(op):
                    waits[move].append(steps[op])
        made = {each: op for op, moves in self.moves.items() for each in moves}
        for op in order:
            if isinstance(op, npu.EngineOp):
                move = made.get(op) if isinstance(op, npu.DmaOp) else None
                self.leaves[op] = Leaf(
                    op,
                    op.engine,
                    tuple(self.touches[op]),
                    steps[op],
                    _loops(op),
                    tuple(waits[op]) if op in waits else None,
                    self.ahead.get(op, 0),
                    move,
                )

    def _moves_of(self, op: mem.WaitOp) -> Iterator[npu.DmaOp]:
        """The moves that a wait may wait for, through the loops that carry tokens."""
        pending = list(op.tokens)
        seen: set[SSAValue] = set(pending)
        while pending:
            token = pending.pop()
            if isinstance(owner := token.owner, mem.Move):
                if owner in self.moves:
                    yield from self.moves[owner]
                continue
            sources = _sources(token)
            pending += [source for source in sources if source not in seen]
            seen.update(sources)

    def items(self, block: Block) -> list[Item]:
        """The operations of a block that hold instructions, in order."""
        found: list[Item] = []
        for op in block.ops:
            item = Item(op)
            for each in op.walk():
                if (leaf := self.leaves.get(each)) is not None:
                    stream = Stream(leaf.engine, each is op and leaf.ahead > 0)
                    item.leaves.setdefault(stream, []).append(leaf)
            if item.leaves:
                found.append(item)
        return found


def _sources(token: SSAValue) -> list[SSAValue]:
    """
    Return the values that a loop-carried token may stand for: its initial value, or the
    one that an iteration yields.
    """
    owner = token.owner
    if isinstance(token, BlockArgument):
        loop, number = token.block.parent_op(), token.index - 1
    else:
        assert isinstance(token, OpResult)
        loop, number = owner, token.index
    if not isinstance(loop, scf.ForOp):
        return []
    terminator = loop.body.block.last_op
    assert terminator is not None
    return [loop.iter_args[number], terminator.operands[number]]


def _loops(op: Operation) -> tuple[scf.ForOp, ...]:
    found: list[scf.ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            found.append(parent)
        parent = parent.parent_op()
    return tuple(reversed(found))
