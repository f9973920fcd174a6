"""
Analysis in the NPU code generator: tree of a program's instructions for their
synchronisation, with memory accesses and conflicts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.memref_views import BufferExtent
from tlf.lowering.mem_to_npu.multibuffer_slots import BufferSlot


@dataclass(frozen=True)
class BufferAccess:
    """A read or write of a buffer, or of slots of it, by an instruction."""

    extent: BufferExtent
    is_write: bool
    slots: tuple[BufferSlot, ...] = ()

    def has_disjoint_slots(
        self, later_access: "BufferAccess", loops: Sequence[scf.ForOp], iterations: int
    ) -> bool:
        """
        Return `True` if this access and `later_access`, `iterations` iterations of the
        last of `loops` later, never touch the same bytes as their slots differ. `loops`
        are the common enclosing loops, outermost first.
        """
        return any(
            mine.is_disjoint_from(theirs, loops, iterations)
            for mine, theirs in self._slot_pairs_of_same_buffer(later_access)
        )

    def has_periodic_conflict_with(
        self, later_access: "BufferAccess", loops: Sequence[scf.ForOp], inner_depth: int
    ) -> bool:
        """
        Return `True` if a conflict has the same distance across restarts of an inner
        loop as within it. The loop that restarts it is `inner_depth` levels further
        out.
        """
        return all(
            mine.is_continuous_across_restarts(loops[-inner_depth - 1 :])
            for mine, theirs in self._slot_pairs_of_same_buffer(later_access)
            if mine.is_disjoint_from(theirs, loops, 0) is not None
        )

    def _slot_pairs_of_same_buffer(
        self, later_access: "BufferAccess"
    ) -> Iterator[tuple[BufferSlot, BufferSlot]]:
        """Yield the pairs of slots of both accesses, if they are of the same buffer."""
        if self.extent == later_access.extent:
            yield from product(self.slots, later_access.slots)


@dataclass(frozen=True)
class AccessedBytes:
    """Lowest and highest bytes that some instructions access in each memory level."""

    read_or_written: Mapping[str, tuple[int, int]]
    written: Mapping[str, tuple[int, int]]

    @staticmethod
    def of(accesses: Iterable[BufferAccess]) -> "AccessedBytes":
        """Return the bytes of some accesses."""
        found: dict[str, tuple[int, int]] = {}
        written: dict[str, tuple[int, int]] = {}
        for access in accesses:
            extent = access.extent
            for ranges in (found, written) if access.is_write else (found,):
                low, high = ranges.get(extent.level, (extent.low, extent.high))
                ranges[extent.level] = min(low, extent.low), max(high, extent.high)
        return AccessedBytes(found, written)

    def can_conflict_with(self, other: "AccessedBytes") -> bool:
        """Return `True` if both may share bytes that one of them writes."""
        return _have_common_bytes(
            self.written, other.read_or_written
        ) or _have_common_bytes(self.read_or_written, other.written)


def _have_common_bytes(
    some: Mapping[str, tuple[int, int]], others: Mapping[str, tuple[int, int]]
) -> bool:
    """Return `True` if two ranges of bytes of one level overlap."""
    for level, (low, high) in some.items():
        other = others.get(level)
        if other is not None and low < other[1] and other[0] < high:
            return True
    return False


class EngineStream(NamedTuple):
    """Key of the instructions of one engine that execute in program order."""

    engine: str
    is_prefetched: bool = False
    """`True` for instructions issued ahead, which belong to a later iteration."""


@dataclass(frozen=True, eq=False)
class InstructionLeaf:
    """One instruction: its engine, memory accesses and position in the program."""

    op: npu.EngineOp
    engine: str
    accesses: tuple[BufferAccess, ...]
    step: int
    loops: tuple[scf.ForOp, ...]
    """Enclosing loops, outermost first."""
    wait_steps: tuple[int, ...] | None
    """Steps of the waits for a move; `None` for other instructions."""
    prefetch_distance: int = 0
    """Number of iterations by which the instruction is issued early."""
    move: mem.Move | None = None
    """Move that the instruction was lowered from, if any."""

    @cached_property
    def writes(self) -> tuple[BufferAccess, ...]:
        """Accesses that write."""
        return tuple([access for access in self.accesses if access.is_write])

    @cached_property
    def accessed_bytes(self) -> AccessedBytes:
        """Bytes that the instruction accesses."""
        return AccessedBytes.of(self.accesses)

    @cached_property
    def has_slots(self) -> bool:
        """`True` if slots are known for at least one access."""
        return any(access.slots for access in self.accesses)

    def overlapping_access_pairs(
        self, later: "InstructionLeaf"
    ) -> Iterator[tuple[BufferAccess, BufferAccess]]:
        """
        Yield the accesses of this instruction and a later one to overlapping buffers,
        at least one of which writes.
        """
        for mine in self.accesses:
            for theirs in later.accesses if mine.is_write else later.writes:
                if mine.extent.is_overlapping(theirs.extent):
                    yield mine, theirs

    def conflicting_access_pairs(
        self, later: "InstructionLeaf", loops: Sequence[scf.ForOp], iterations: int
    ) -> Iterator[tuple[BufferAccess, BufferAccess]]:
        """Yield the conflicting accesses of this instruction and a later one."""
        for mine, theirs in self.overlapping_access_pairs(later):
            if not mine.has_disjoint_slots(theirs, loops, iterations):
                yield mine, theirs

    def is_ordered_before(self, later: "InstructionLeaf") -> bool:
        """
        Return `True` if the program orders `later` after this within one iteration.

        A move is complete only for instructions after a wait for it.
        """
        if self.wait_steps is None:
            return True
        return any(self.step < wait < later.step for wait in self.wait_steps)

    def is_ordered_before_next_iteration(
        self, following: "InstructionLeaf", loop_steps: tuple[int, int]
    ) -> bool:
        """
        Return `True` if the program orders `following` of the next iteration after
        this.

        `loop_steps` is the first and the last step of the loop.
        """
        if self.wait_steps is None:
            return True
        waits_in_loop = [
            wait for wait in self.wait_steps if loop_steps[0] <= wait <= loop_steps[1]
        ]
        return any(wait > self.step or wait < following.step for wait in waits_in_loop)


def bytes_accessed_by(leaves: Iterable[InstructionLeaf]) -> AccessedBytes:
    """Return the bytes that some instructions access."""
    return AccessedBytes.of(each for leaf in leaves for each in leaf.accesses)


@dataclass
class BlockItem:
    """An operation of a block that is an instruction or a loop over instructions."""

    op: Operation
    leaves: dict[EngineStream, list[InstructionLeaf]] = field(
        default_factory=dict[EngineStream, list[InstructionLeaf]]
    )
    """Instructions by stream."""
    _accessed_bytes: dict[EngineStream, AccessedBytes] = field(
        default_factory=dict[EngineStream, AccessedBytes]
    )

    def bytes_accessed_by(self, stream: EngineStream) -> AccessedBytes:
        """Return the bytes that the instructions of a stream access (cached)."""
        if (known := self._accessed_bytes.get(stream)) is None:
            known = bytes_accessed_by(self.leaves[stream])
            self._accessed_bytes[stream] = known
        return known

    @property
    def prefetching_engines(self) -> set[str]:
        """
        Names of engines with an instruction that this item's loop issues iterations
        ahead.
        """
        return {
            stream.engine
            for stream, leaves in self.leaves.items()
            if any(
                leaf.prefetch_distance and leaf.loops[-1:] == (self.op,)
                for leaf in leaves
            )
        }

    def instructions_sharing_waits(
        self, stream: EngineStream
    ) -> Iterator[tuple[list[InstructionLeaf], bool]]:
        """
        Yield the instructions of a stream that share waits: prefetched ones, then the
        rest, with `True` if the rest waits later than prefetched ones.
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
    """Engine instructions of an `npu` program by operation, with accesses and order."""

    accesses: Mapping[Operation, Sequence[BufferAccess]]
    """Buffer accesses of each instruction."""
    moves: Mapping[mem.Move, Sequence[npu.DmaOp]]
    """Instructions of each move."""
    prefetch_distances: Mapping[npu.EngineOp, int]
    """Prefetch distance of instructions issued ahead, in iterations."""
    leaves: dict[Operation, InstructionLeaf] = field(
        default_factory=dict[Operation, InstructionLeaf]
    )
    step_ranges: dict[Operation, tuple[int, int]] = field(
        default_factory=dict[Operation, tuple[int, int]]
    )

    def collect_instructions(self, block: Block) -> None:
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
                for move in self._moves_awaited_by_wait(op):
                    waits[move].append(steps[op])
        move_of = {each: op for op, moves in self.moves.items() for each in moves}
        for op in order:
            if isinstance(op, npu.EngineOp):
                move = move_of.get(op) if isinstance(op, npu.DmaOp) else None
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

    def _moves_awaited_by_wait(self, op: mem.WaitOp) -> Iterator[npu.DmaOp]:
        """Yield the moves that a wait may wait for, through loop-carried tokens."""
        pending = list(op.tokens)
        visited: set[SSAValue] = set(pending)
        while pending:
            token = pending.pop()
            if isinstance(owner := token.owner, mem.Move):
                if owner in self.moves:
                    yield from self.moves[owner]
                continue
            sources = _sources_of_carried_token(token)
            pending += [source for source in sources if source not in visited]
            visited.update(sources)

    def instruction_items_of(self, block: Block) -> list[BlockItem]:
        """Return the operations of a block that contain instructions, in order."""
        items: list[BlockItem] = []
        for op in block.ops:
            item = BlockItem(op)
            for each in op.walk():
                if (leaf := self.leaves.get(each)) is not None:
                    stream = EngineStream(
                        leaf.engine, each is op and leaf.prefetch_distance > 0
                    )
                    item.leaves.setdefault(stream, []).append(leaf)
            if item.leaves:
                items.append(item)
        return items


def _sources_of_carried_token(token: SSAValue) -> list[SSAValue]:
    """
    Return the sources of a loop-carried token: its initial value and the value that an
    iteration yields; empty for other tokens.
    """
    owner = token.owner
    if isinstance(token, BlockArgument):
        loop, index = token.block.parent_op(), token.index - 1
    else:
        assert isinstance(token, OpResult)
        loop, index = owner, token.index
    if not isinstance(loop, scf.ForOp):
        return []
    terminator = loop.body.block.last_op
    assert terminator is not None
    return [loop.iter_args[index], terminator.operands[index]]


def _enclosing_loops(op: Operation) -> tuple[scf.ForOp, ...]:
    """Return the `scf.for` operations around `op`, outermost first."""
    loops: list[scf.ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    return tuple(reversed(loops))
