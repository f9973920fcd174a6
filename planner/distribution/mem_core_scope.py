"""
Facts of the decision on loops distributed over cores, collected from a block of `mem`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.awaited_moves import moves_awaited_by
from tlf.analysis.buffers.core_loops import parallel_speedup
from tlf.analysis.buffers.memory_effects import (
    root_buffer_of,
    root_buffers_written_in,
)
from tlf.analysis.buffers.normalized_loops import loop_ranges_of, trip_count_of_nest
from tlf.dialects import mem
from tlf.planner.distribution.distribution_facts import CoreScope, ScopeOperation


@dataclass(frozen=True)
class MemCoreScope:
    """Facts of the block of a nest, with the operations that they were taken from."""

    scope: CoreScope
    operations: Sequence[Operation]
    """Operations of the block."""
    facts: Mapping[Operation, ScopeOperation]
    """Facts of the operations of the block, and of those inside."""

    @staticmethod
    def of_nest(
        nest: scf.ParallelOp,
        cores: int,
        private_levels: AbstractSet[str],
        loops: Sequence[scf.ParallelOp],
    ) -> MemCoreScope:
        """Return the facts of the block of a nest, of whose `loops` one is selected."""
        block = nest.parent
        assert block is not None
        facts: dict[Operation, ScopeOperation] = {}
        ops = tuple(block.ops)
        operations = [_facts_of(op, cores, loops, facts) for op in ops]
        allocated = frozenset[Hashable](
            op.buffer for op in ops if isinstance(op, mem.AllocOp)
        )
        private = frozenset[Hashable](
            buffer
            for op in ops
            for buffer in (*_buffers_from_outside(op), *_buffers_allocated_in(op))
            if mem.level_of(buffer.type) in private_levels
        )
        position = operations.index(facts[nest])
        scope = CoreScope(operations, position, allocated, private)
        return MemCoreScope(scope, ops, facts)

    def operation_of(self, facts: ScopeOperation) -> Operation:
        """Return the operation that facts were taken from."""
        return next(op for op, each in self.facts.items() if each is facts)


def _facts_of(
    op: Operation,
    cores: int,
    loops: Sequence[scf.ParallelOp],
    facts: dict[Operation, ScopeOperation],
) -> ScopeOperation:
    """Return the facts of an operation, and add them and those inside to `facts`."""
    inside = [
        _facts_of(each, cores, loops, facts)
        for region in op.regions
        for block in region.blocks
        for each in block.ops
    ]
    facts[op] = ScopeOperation(
        frozenset[Hashable](_buffers_from_outside(op)),
        frozenset[Hashable](root_buffers_written_in(op)),
        frozenset[Hashable](_buffers_allocated_in(op)),
        frozenset(_buffers_of_awaited_moves(op)),
        _ends_of_move(op),
        inside,
        next((_speedup_of_loop(e, cores) for e in loops if e is op), None),
    )
    return facts[op]


def _buffers_from_outside(op: Operation) -> Iterator[SSAValue]:
    """Yield the buffers that an operation uses and that are defined outside of it."""
    for each in op.walk():
        for value in each.operands:
            if isinstance(value.type, MemRefType):
                owner = (root := root_buffer_of(value)).owner
                if not isinstance(owner, Operation) or not op.is_ancestor(owner):
                    yield root


def _buffers_allocated_in(op: Operation) -> Iterator[SSAValue]:
    """Yield the buffers that an operation, or one inside, allocates."""
    return (each.buffer for each in op.walk() if isinstance(each, mem.AllocOp))


def _buffers_of_awaited_moves(op: Operation) -> Iterator[Hashable]:
    """Yield the buffers that moves access for which an operation waits."""
    for each in op.walk():
        for move in moves_awaited_by(each):
            yield from map(root_buffer_of, _memrefs_of(move))


def _ends_of_move(op: Operation) -> tuple[Hashable, Hashable] | None:
    """Return the source and destination of a move; None for other operations."""
    if not isinstance(op, mem.Move):
        return None
    return root_buffer_of(op.source), root_buffer_of(op.destination)


def _memrefs_of(op: Operation) -> Iterator[SSAValue]:
    return (value for value in op.operands if isinstance(value.type, MemRefType))


def _speedup_of_loop(loop: scf.ParallelOp, cores: int) -> float:
    """Return the parallel speed-up of a loop; 0 if it cannot be distributed."""
    if (trips := trip_count_of_nest([loop])) is None:
        return cores if len(loop_ranges_of(loop)) == 1 else 0
    return parallel_speedup(trips, cores)
