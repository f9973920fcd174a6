"""
Facts of the decision on early loads, collected from the outermost block of a function
of `mem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.awaited_moves import (
    buffers_accessed_until_end_of,
    moves_awaited_by,
)
from tlf.analysis.buffers.backward_slices import (
    backward_slice_in_block,
    needs_only_index_arithmetic,
)
from tlf.analysis.buffers.mem_liveness import MemLiveness, to_allocation_buffer
from tlf.analysis.buffers.memory_effects import (
    BUFFER_OPS,
    VIEW_OPS,
    covered_region_of,
    root_buffer_of,
    written_buffers_of,
)
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.planner.prefetching.early_load_selection import order_with_early_loads
from tlf.planner.prefetching.load_facts import (
    LevelLifetimes,
    LoadFacts,
    OperationFacts,
    RegionFacts,
)


@dataclass(frozen=True)
class MemLoadSequence:
    """
    The operations of a block, and its loads from a level to the next inner level.
    """

    block: Block
    inner_level: Level
    outer_level: Level

    @cached_property
    def ops(self) -> Sequence[Operation]:
        """Operations of the block, as they were when first asked for."""
        return tuple(self.block.ops)

    def collect_operations(self) -> Sequence[OperationFacts]:
        """Return the facts of the operations."""
        return [self._facts_of(op) for op in self.ops]

    def _facts_of(self, op: Operation) -> OperationFacts:
        load = self._hoistable_load_of(op)
        return OperationFacts(
            frozenset(b for e in op.walk() for b in buffers_accessed_until_end_of(e)),
            frozenset(map(_region_facts_of, frozenset(_buffers_written_by(op)))),
            load,
            load is None and any(map(self._is_load, op.walk())),
        )

    def _is_load(self, op: Operation) -> bool:
        """Return `True` for a move of a box from the outer level to the inner one."""
        return (
            isinstance(op, mem.DmaOp)
            and mem.level_of(op.source.type) == self.outer_level.name
            and mem.level_of(op.destination.type) == self.inner_level.name
        )

    def _hoistable_load_of(self, op: Operation) -> LoadFacts | None:
        """
        Return a load that fills a buffer of the block, and whose address depends only
        on index arithmetic and views; None for other operations.
        """
        if not isinstance(op, mem.DmaOp) or not self._is_load(op):
            return None
        buffer = root_buffer_of(op.destination)
        if not isinstance(buffer.owner, mem.AllocOp) or buffer.owner.parent is not (
            self.block
        ):
            return None
        if not needs_only_index_arithmetic(op):
            return None
        return LoadFacts(buffer, _region_facts_of(op.source))

    def lifetimes_with_early_loads(self, targets: Mapping[int, int]) -> LevelLifetimes:
        """Return the live ranges after loads are moved to their targets."""
        order = self.order_with_early_loads(targets)
        liveness, level = MemLiveness.of_operations(order), self.inner_level
        return LevelLifetimes(
            [liveness.step_ranges[op] for op in self.ops],
            {
                op.buffer: to_allocation_buffer(op, liveness, level.alignment)
                for op in _walk_all(order)
                if isinstance(op, mem.AllocOp) and op.level == level.name
            },
        )

    def order_with_early_loads(self, targets: Mapping[int, int]) -> list[Operation]:
        """
        Return the operations with loads moved to their targets, and the operations that
        these need.
        """
        order: dict[Operation, None] = {}
        for position in order_with_early_loads(len(self.ops), targets):
            op = self.ops[position]
            if position in targets and isinstance(op, mem.DmaOp):
                order.update(dict.fromkeys(_operations_needed_by_load(op)))
            order[op] = None
        return list(order)


def _walk_all(ops: Iterable[Operation]) -> Iterator[Operation]:
    for op in ops:
        yield from op.walk()


def _operations_needed_by_load(load: mem.DmaOp) -> Iterator[Operation]:
    """Yield the operations of its block that a load depends on."""
    for end in (load.destination, load.source):
        owner = root_buffer_of(end).owner
        if isinstance(owner, BUFFER_OPS):
            yield owner
    yield from backward_slice_in_block(load)


def _region_facts_of(view: SSAValue) -> RegionFacts:
    return RegionFacts(root_buffer_of(view), covered_region_of(view).sections)


def _buffers_written_by(root: Operation) -> Iterator[SSAValue]:
    """
    Yield the buffers or views that `root` or a move that it waits for may write, and
    those that it defines other than as an allocation or a view.
    """
    for op in root.walk():
        yield from written_buffers_of(op)
        yield from (move.destination for move in moves_awaited_by(op))
    if not isinstance(root, (*BUFFER_OPS, *VIEW_OPS)):
        yield from (e for e in root.results if isinstance(e.type, MemRefType))
