"""Facts of chunking decisions, collected from the operations of a block of `mem`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.index_congruence import (
    NO_CONGRUENCE,
    add_congruences,
    congruence_of,
    multiply_congruences,
)
from tlf.analysis.buffers.loop_offsets import enumerate_offsets, loops_between
from tlf.analysis.buffers.mem_liveness import users_of_buffer
from tlf.analysis.buffers.memory_effects import VIEW_OPS, root_buffer_of
from tlf.analysis.buffers.normalized_loops import LoopRange, is_index_arithmetic
from tlf.analysis.buffers.view_offsets import offset_between_views
from tlf.dialects import mem
from tlf.dialects.mem import Index
from tlf.dialects.types import dtype_of, memref_type
from tlf.planner.chunking.block_facts import BoxFacts, BufferUser, MoveFacts


@dataclass(frozen=True)
class MemTileAccess:
    """Read or write of a `mem.dma` in loops."""

    loops: Sequence[LoopRange]
    """Loops around the move, outermost first; empty if something else is around it."""
    box_shape: Sequence[int]
    view: SSAValue
    """View that the move accesses."""
    offsets: Sequence[Index]
    """Offsets of the box in the view."""
    other_view: SSAValue
    """View of the same buffer that another move accesses as a whole."""

    @staticmethod
    def of_move(
        move: mem.DmaOp, nest: Operation, other_view: SSAValue, is_read: bool
    ) -> MemTileAccess:
        """Return the read or the write of a move in a nest."""
        ends = (
            (move.source, move.mixed_source_offsets)
            if is_read
            else (move.destination, move.mixed_destination_offsets)
        )
        return MemTileAccess(
            loops_between(move, nest), move.box_sizes, *ends, other_view
        )

    @property
    def trip_counts(self) -> Sequence[int | None]:
        """Trip counts of the loops, outermost first; None if unknown."""
        return [loop.trips for loop in self.loops]

    def view_offset(self, axis: int) -> int | None:
        """Return the offset of the other view; None if it is unknown."""
        return offset_between_views(self.other_view, self.view, axis)

    def offsets_in_loop(self, loop_index: int, axis: int) -> list[int] | None:
        """Return the offset of the box in each iteration of a loop."""
        return enumerate_offsets(self.offsets[axis], self.loops[loop_index])


@dataclass(frozen=True)
class MemBlock:
    """Facts of a block of `mem`; `ops` are the operations as they were collected."""

    ops: Sequence[Operation]

    @staticmethod
    def of(block: Block) -> MemBlock:
        """Return the facts of the current operations of a block."""
        return MemBlock(tuple(block.ops))

    @cached_property
    def _positions(self) -> dict[Operation, int]:
        return {op: position for position, op in enumerate(self.ops)}

    @property
    def length(self) -> int:
        """Number of operations."""
        return len(self.ops)

    @property
    def loop_positions(self) -> Sequence[int]:
        """Positions of loops."""
        return [
            position
            for position, op in enumerate(self.ops)
            if isinstance(op, scf.ForOp | scf.ParallelOp)
        ]

    def dma_at(self, position: int) -> mem.DmaOp:
        """Return the operation at a position, which must be a move of a box."""
        op = self.ops[position]
        assert isinstance(op, mem.DmaOp)
        return op

    def move_at(self, position: int) -> MoveFacts | None:
        """Return a `mem.dma`; None for other operations."""
        if not isinstance(op := self.ops[position], mem.DmaOp):
            return None
        return MoveFacts(
            _box_facts_of(op.source, op.mixed_source_offsets),
            _box_facts_of(op.destination, op.mixed_destination_offsets),
            op.box_sizes,
            op.fill is not None,
        )

    def is_passive_at(self, position: int) -> bool:
        """Return `True` for a wait, an allocation, a view or index arithmetic."""
        op = self.ops[position]
        is_memory_op = isinstance(op, (mem.WaitOp, mem.AllocOp, *VIEW_OPS))
        return is_memory_op or is_index_arithmetic(op)

    def buffers_at(self, position: int) -> Collection[SSAValue]:
        """Return the buffers that an operation accesses."""
        return {
            root_buffer_of(value)
            for op in self.ops[position].walk()
            for value in op.operands
            if isinstance(value.type, MemRefType)
        }

    def wait_positions_of(self, position: int) -> Sequence[int | None]:
        """
        Return the positions of the waits for a move; None for a wait outside of the
        block and for another use of the token.
        """
        users = [use.operation for use in self.dma_at(position).token.uses]
        return [
            self._positions.get(each) if isinstance(each, mem.WaitOp) else None
            for each in users
        ]

    def other_users(
        self, position: int, is_load: bool
    ) -> Sequence[BufferUser[MemTileAccess]]:
        """Return the other users of the buffer that a load fills or a store reads."""
        move = self.dma_at(position)
        view = move.destination if is_load else move.source
        return [
            self._user_of(op, view, is_load)
            for op in dict.fromkeys(users_of_buffer(root_buffer_of(view)))
            if op is not move and not isinstance(op, mem.WaitOp)
        ]

    def _user_of(
        self, op: Operation, view: SSAValue, is_read: bool
    ) -> BufferUser[MemTileAccess]:
        """Return the position of a user of the buffer of a view, and its access."""
        around: Operation | None = op
        while around is not None and around not in self._positions:
            around = around.parent_op()
        if around is None:
            return BufferUser(None, None)
        position = self._positions[around]
        if not isinstance(op, mem.DmaOp):
            return BufferUser(position, None)
        access = MemTileAccess.of_move(op, around, view, is_read)
        is_same = root_buffer_of(access.view) is root_buffer_of(view)
        return BufferUser(position, access if is_same else None)


def _box_facts_of(view: SSAValue, offsets: Sequence[Index]) -> BoxFacts:
    """Return the facts of a box at offsets in a view."""
    type_ = memref_type(view)
    item = dtype_of(type_.element_type).itemsize
    strides = [each for each in type_.get_strides() or () if each is not None]
    is_static = type_.has_static_shape() and len(strides) == len(offsets)
    start = type_.get_offset()
    address = multiply_congruences(
        NO_CONGRUENCE if start is None else (0, start), (0, item)
    )
    for offset, stride in zip(offsets, strides, strict=False):
        step = multiply_congruences(congruence_of(offset), (0, stride * item))
        address = add_congruences(address, step)
    constants = [each for each in offsets if isinstance(each, int)]
    return BoxFacts(
        root_buffer_of(view),
        mem.level_of(type_),
        tuple(type_.get_shape()),
        tuple(constants) if len(constants) == len(offsets) else None,
        tuple(stride * item for stride in strides) if is_static else None,
        item,
        address,
    )
