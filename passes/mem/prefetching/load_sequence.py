"""
Legality check of the pass `mem-prefetch`: operations of a block in program order, with
barriers to the hoisting of loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tlf.analysis.buffers.memory_effects import (
    BUFFER_OPS,
    VIEW_OPS,
    can_buffers_alias,
    root_buffer_of,
    written_buffers_of,
)
from tlf.analysis.buffers.normalized_loops import is_index_arithmetic
from tlf.dialects import mem
from tlf.passes.mem.pipelining.prefetch_distance import backward_slice_in_block


@dataclass(frozen=True)
class LoadSequence:
    """
    The operations of a block, and its loads from a level to the next inner level.
    """

    ops: Sequence[Operation]
    accessed_buffers: Sequence[frozenset[SSAValue]]
    """For each operation, the buffers that it or its nested operations access."""
    written_buffers: Sequence[frozenset[SSAValue]]
    """For each operation, the buffers and views that it may write."""
    barriers: Sequence[bool]
    """For each operation, True if it has loads between the levels that are fixed."""
    loads: Mapping[int, mem.DmaOp]
    """Loads that may be hoisted, by position."""

    @staticmethod
    def collect_from_block(
        block: Block, inner_level: str, outer_level: str
    ) -> LoadSequence:
        """Collect the loads and memory effects of the operations of a block."""
        ops = list(block.ops)

        def is_load(op: Operation) -> bool:
            return (
                isinstance(op, mem.DmaOp)
                and mem.level_of(op.source.type) == outer_level
                and mem.level_of(op.destination.type) == inner_level
            )

        loads = {
            position: op
            for position, op in enumerate(ops)
            if isinstance(op, mem.DmaOp) and is_load(op) and _can_hoist_load(op, block)
        }
        return LoadSequence(
            ops,
            [frozenset(_buffers_accessed_by(op)) for op in ops],
            [frozenset(_buffers_written_by(op)) for op in ops],
            [
                position not in loads and any(map(is_load, op.walk()))
                for position, op in enumerate(ops)
            ],
            loads,
        )

    def has_barrier_to_load(self, load_position: int, barrier_position: int) -> bool:
        """
        Return `True` if a load cannot be hoisted above the operation at a position.
        """
        if self.barriers[barrier_position]:
            return True
        move = self.loads[load_position]
        buffer, source = root_buffer_of(move.destination), root_buffer_of(move.source)
        op = self.ops[barrier_position]
        if op in (buffer.owner, source.owner):
            return not isinstance(op, BUFFER_OPS)
        return buffer in self.accessed_buffers[barrier_position] or any(
            can_buffers_alias(move.source, each)
            for each in self.written_buffers[barrier_position]
        )

    def order_with_moved_loads(
        self, target_positions: Mapping[int, int]
    ) -> list[Operation]:
        """
        Return the operations with loads moved to their target positions.
        """
        loads_at: dict[int, list[mem.DmaOp]] = {}
        for load, goal in target_positions.items():
            loads_at.setdefault(goal, []).append(self.loads[load])
        order: dict[Operation, None] = {}
        for position, op in enumerate(self.ops):
            for load in loads_at.get(position, ()):
                order.update(dict.fromkeys(_load_with_backward_slice(load)))
            order[op] = None
        return list(order)


def _load_with_backward_slice(load: mem.DmaOp) -> Iterator[Operation]:
    """
    Yield the operations that a load depends on in its block, then the load.
    """
    yield from _buffer_definitions_of_load(load)
    yield from backward_slice_in_block(load)
    yield load


def _buffer_definitions_of_load(load: mem.DmaOp) -> list[Operation]:
    """Return the operations that define the buffers of a load."""
    owners = [root_buffer_of(end).owner for end in (load.destination, load.source)]
    return [owner for owner in owners if isinstance(owner, BUFFER_OPS)]


def _can_hoist_load(op: mem.DmaOp, block: Block) -> bool:
    """
    Return `True` if a load fills a buffer of the block, and its address depends only on
    index arithmetic and views.
    """
    owner = root_buffer_of(op.destination).owner
    if not isinstance(owner, mem.AllocOp) or owner.parent is not block:
        return False
    return all(
        is_index_arithmetic(each) or isinstance(each, VIEW_OPS)
        for each in backward_slice_in_block(op)
    )


def _buffers_accessed_by(root: Operation) -> Iterator[SSAValue]:
    """Yield root buffers of operands in `root`, and of moves that it waits for."""
    for op in root.walk():
        if isinstance(op, VIEW_OPS):
            continue
        for value in op.operands:
            if isinstance(value.type, MemRefType):
                yield root_buffer_of(value)
        for move in _moves_awaited_by(op):
            buffers = (e for e in move.operands if isinstance(e.type, MemRefType))
            yield from map(root_buffer_of, buffers)


def _buffers_written_by(root: Operation) -> Iterator[SSAValue]:
    for op in root.walk():
        yield from written_buffers_of(op)
        yield from (move.destination for move in _moves_awaited_by(op))


def _moves_awaited_by(op: Operation) -> Iterator[mem.Move]:
    """
    Yield the moves whose tokens a wait takes, directly or carried by loops; none for
    other operations.
    """
    pending = list(op.operands) if isinstance(op, mem.WaitOp) else []
    visited = set(pending)
    while pending:
        token = pending.pop()
        if isinstance(token.owner, mem.Move):
            yield token.owner
            continue
        carried = [each for each in _loop_carried_tokens(token) if each not in visited]
        visited.update(carried)
        pending += carried


def _loop_carried_tokens(token: SSAValue) -> Sequence[SSAValue]:
    """Return the initial and the yielded value of a loop-carried token."""
    loop, index = token.owner, 0
    if isinstance(token, BlockArgument):
        loop, index = token.owner.parent_op(), token.index - 1
    elif isinstance(token, OpResult):
        index = token.index
    assert isinstance(loop, scf.ForOp), (
        "expected the token of a move or a loop-carried token"
    )
    end = loop.body.block.last_op
    assert end is not None
    return loop.iter_args[index], end.operands[index]
