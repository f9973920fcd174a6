"""Tree of a program's instructions with their memory accesses and conflicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.memref_views import BufferExtent
from tlf.lowering.mem_to_npu.multibuffer_slots import BufferSlot


@dataclass(frozen=True)
class BufferAccess:
    """A read or write of a buffer, or of some of its slots, by an instruction."""

    extent: BufferExtent
    writes: bool
    slots: tuple[BufferSlot, ...] = ()

    def can_conflict(
        self, later: "BufferAccess", loops: Sequence[scf.ForOp], iterations: int
    ) -> bool:
        """
        Return `True` if this and `later`, `iterations` iterations of the last of
        `loops` after it, may touch the same bytes, with at least one write. `loops` are
        those around both, outermost first.
        """
        if not (self.writes or later.writes) or not self.extent.is_overlapping(
            later.extent
        ):
            return False
        return not any(
            mine.is_disjoint(theirs, loops, iterations)
            for mine, theirs in self._comparable_slots(later)
        )

    def is_periodic_conflict(
        self, later: "BufferAccess", loops: Sequence[scf.ForOp], inner: int
    ) -> bool:
        """
        Return `True` if a conflict is the same across restarts of an inner loop. It is
        the `inner`-th loop inside the one that runs again.
        """
        return all(
            mine.is_continuous_across(loops[-inner - 1 :])
            for mine, theirs in self._comparable_slots(later)
            if mine.is_disjoint(theirs, loops, 0) is not None
        )

    def _comparable_slots(
        self, later: "BufferAccess"
    ) -> Iterator[tuple[BufferSlot, BufferSlot]]:
        """Yield the pairs of slots that both accesses take of the same buffer."""
        if self.extent == later.extent:
            yield from product(self.slots, later.slots)


class Stream(NamedTuple):
    """Instructions of one engine that keep their order."""

    engine: str
    is_prefetched: bool = False
    """True if the instructions belong to later iterations than those around them."""


@dataclass(frozen=True, eq=False)
class InstructionLeaf:
    """One instruction: its engine, its memory accesses, its position in the program."""

    op: npu.EngineOp
    engine: str
    accesses: tuple[BufferAccess, ...]
    step: int
    loops: tuple[scf.ForOp, ...]
    """The loops around it, outermost first."""
    waits: tuple[int, ...] | None
    """For a move: the steps of the waits for it."""
    prefetch_distance: int = 0
    """Number of iterations by which it is issued early."""
    move: mem.Move | None = None
    """The move that it was lowered from, if any."""

    @property
    def has_slots(self) -> bool:
        """True if the slots that this touches are known for some buffer."""
        return any(touch.slots for touch in self.accesses)

    def conflicting_accesses(
        self, later: "InstructionLeaf", loops: Sequence[scf.ForOp], iterations: int
    ) -> Iterator[tuple[BufferAccess, BufferAccess]]:
        """Yield the conflicting accesses of this instruction and a later one."""
        for mine in self.accesses:
            for theirs in later.accesses:
                if mine.can_conflict(theirs, loops, iterations):
                    yield mine, theirs

    def is_before(self, later: "InstructionLeaf") -> bool:
        """
        Return `True` if the program orders `later` after this within one iteration.

        A move is complete only for what stands after a wait for it.
        """
        if self.waits is None:
            return True
        return any(self.step < wait < later.step for wait in self.waits)

    def is_before_next(
        self, following: "InstructionLeaf", span: tuple[int, int]
    ) -> bool:
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
class BlockItem:
    """An operation of a block that is an instruction or a loop over instructions."""

    op: Operation
    leaves: dict[Stream, list[InstructionLeaf]] = field(
        default_factory=dict[Stream, list[InstructionLeaf]]
    )
    """The instructions by engine."""

    @property
    def prefetching_engines(self) -> set[str]:
        """The engines for which a loop issues some of its instructions ahead."""
        return {
            stream.engine
            for stream, leaves in self.leaves.items()
            if any(
                leaf.prefetch_distance and leaf.loops[-1:] == (self.op,)
                for leaf in leaves
            )
        }

    def wait_groups(
        self, stream: Stream
    ) -> Iterator[tuple[list[InstructionLeaf], bool]]:
        """
        Yield the instructions of a stream that wait together, prefetched ones first.
        """
        leaves = self.leaves[stream]
        first = [
            leaf
            for leaf in leaves
            if leaf.prefetch_distance and leaf.loops[-1:] == (self.op,)
        ]
        rest = [leaf for leaf in leaves if leaf not in first]
        if first:
            yield first, False
        if rest:
            yield rest, bool(first)


@dataclass
class InstructionTree:
    """The instructions of a program, grouped by block."""

    accesses: Mapping[Operation, Sequence[BufferAccess]]
    """The buffers that each instruction touches."""
    moves: Mapping[mem.Move, Sequence[npu.DmaOp]]
    """The instructions for each move."""
    prefetch_distances: Mapping[npu.EngineOp, int]
    """Number of iterations by which some instructions are issued early."""
    leaves: dict[Operation, InstructionLeaf] = field(
        default_factory=dict[Operation, InstructionLeaf]
    )
    step_ranges: dict[Operation, tuple[int, int]] = field(
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
            self.step_ranges[op] = steps[op], steps[last]
            if isinstance(op, mem.WaitOp):
                for move in self._moves_awaited_by(op):
                    waits[move].append(steps[op])
        made = {each: op for op, moves in self.moves.items() for each in moves}
        for op in order:
            if isinstance(op, npu.EngineOp):
                move = made.get(op) if isinstance(op, npu.DmaOp) else None
                self.leaves[op] = InstructionLeaf(
                    op,
                    op.engine,
                    tuple(self.accesses[op]),
                    steps[op],
                    _enclosing_loops(op),
                    tuple(waits[op]) if op in waits else None,
                    self.prefetch_distances.get(op, 0),
                    move,
                )

    def _moves_awaited_by(self, op: mem.WaitOp) -> Iterator[npu.DmaOp]:
        """The moves that a wait may wait for, through the loops that carry tokens."""
        pending = list(op.tokens)
        seen: set[SSAValue] = set(pending)
        while pending:
            token = pending.pop()
            if isinstance(owner := token.owner, mem.Move):
                if owner in self.moves:
                    yield from self.moves[owner]
                continue
            sources = _token_sources(token)
            pending += [source for source in sources if source not in seen]
            seen.update(sources)

    def items_of(self, block: Block) -> list[BlockItem]:
        """The operations of a block that hold instructions, in order."""
        found: list[BlockItem] = []
        for op in block.ops:
            item = BlockItem(op)
            for each in op.walk():
                if (leaf := self.leaves.get(each)) is not None:
                    stream = Stream(
                        leaf.engine, each is op and leaf.prefetch_distance > 0
                    )
                    item.leaves.setdefault(stream, []).append(leaf)
            if item.leaves:
                found.append(item)
        return found


def _token_sources(token: SSAValue) -> list[SSAValue]:
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


def _enclosing_loops(op: Operation) -> tuple[scf.ForOp, ...]:
    found: list[scf.ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            found.append(parent)
        parent = parent.parent_op()
    return tuple(reversed(found))
