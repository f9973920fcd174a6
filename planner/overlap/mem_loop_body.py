"""
Facts of decisions on overlapping iterations, collected from the body of a loop of
`mem`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.backward_slices import needs_only_index_arithmetic
from tlf.analysis.buffers.disjoint_accesses import is_box_private_to_iteration
from tlf.analysis.buffers.map_operations import scalar_operations_of_map
from tlf.analysis.buffers.mem_liveness import MemLiveness
from tlf.analysis.buffers.memory_effects import (
    VIEW_OPS,
    buffers_among,
    can_buffers_alias,
    ring_window_of,
    root_buffer_of,
    written_buffers_of,
)
from tlf.analysis.buffers.normalized_loops import (
    Nest,
    max_iterations_in_flight,
)
from tlf.analysis.tiling.group_tiling import TEMPORARY_BYTES
from tlf.dialects import mem
from tlf.dialects.types import byte_count
from tlf.planner.overlap.body_facts import (
    BodyBuffer,
    BodyMove,
    BodyOperation,
    RingSlices,
)
from tlf.planner.overlap.loop_memory import LiveBuffer, LoopMemory
from tlf.planner.overlap.mem_ring_slices import (
    find_buffer_accesses_in_loop,
    find_ring_slices_of_view,
)


@dataclass(frozen=True)
class MemLoopBody:
    """Facts of the body of a loop; `ops` are its operations as they were collected."""

    loop: Nest
    """Outermost loop of a perfect nest."""
    ops: Sequence[Operation]
    """Operations of the body of the innermost loop."""
    operations: Sequence[BodyOperation]

    @staticmethod
    def of_nest(nest: Sequence[Nest]) -> MemLoopBody:
        """Return the facts of the body of a perfect nest, outermost loop first."""
        block = nest[-1].body.block
        ops = tuple(block.ops)
        positions = {op: position for position, op in enumerate(ops)}
        facts = [_facts_of_operation(op, block, positions) for op in ops]
        return MemLoopBody(nest[0], ops, facts)

    def measure_memory(self) -> LoopMemory:
        """Return the live buffers of the function."""
        op: Operation = self.loop
        while not isinstance(op, func.FuncOp):
            parent = op.parent_op()
            assert parent is not None
            op = parent
        liveness = MemLiveness.of_loop(self.loop, op.body)
        allocations = liveness.allocations()

        def collect_buffers(level: str) -> list[LiveBuffer]:
            return [
                LiveBuffer(
                    each.buffer,
                    byte_count(each.buffer_type),
                    liveness.live_range_of(each.buffer),
                )
                for each in allocations
                if each.level == level
            ]

        steps = liveness.step_ranges[self.loop]
        return LoopMemory(collect_buffers, steps, _temporary_bytes_of(self.ops))

    def move_at(self, position: int) -> mem.Move:
        """Return the operation at a position, which must be a move."""
        op = self.ops[position]
        assert isinstance(op, mem.Move)
        return op

    def can_overwrite_source(self, load: int, writer: int) -> bool:
        """
        Return `True` if an operation may write the source of a load, or its indices.
        """
        move = self.move_at(load)
        return any(
            self._can_write_overwrite_source(move, op, buffer)
            for op, buffer in self._writes_by_position[writer]
        )

    @cached_property
    def _writes_by_position(self) -> Sequence[Sequence[tuple[Operation, SSAValue]]]:
        """Operations that write inside of each operation, with what they write."""
        return [
            [(op, buffer) for op in top.walk() for buffer in written_buffers_of(op)]
            for top in self.ops
        ]

    def _can_write_overwrite_source(
        self, move: mem.Move, op: Operation, buffer: SSAValue
    ) -> bool:
        """Return `True` if a write may overwrite the source of a move."""
        if isinstance(move, mem.DmaGatherOp):
            sources = (move.source, move.indices)
            return any(can_buffers_alias(each, buffer) for each in sources)
        if not can_buffers_alias(move.source, buffer):
            return False
        if not isinstance(op, mem.DmaOp) or not isinstance(move, mem.DmaOp):
            return True
        return not is_box_private_to_iteration(self._normalized_loop, move, op)

    @property
    def _normalized_loop(self) -> scf.ForOp:
        assert isinstance(self.loop, scf.ForOp)
        return self.loop

    def has_early_address(self, load: int) -> bool:
        """Return `True` if the address of a load needs only arithmetic and views."""
        return needs_only_index_arithmetic(self.ops[load])

    def ring_slices_of(self, load: int) -> RingSlices | None:
        """Return the slices of a ring that a load fills; None if they are unknown."""
        destination = self.move_at(load).destination
        return find_ring_slices_of_view(destination, self._normalized_loop)

    def other_ring_slices(self, load: int) -> Sequence[tuple[int, RingSlices | None]]:
        """Return the slices that other operations access in a ring."""
        move, loop = self.move_at(load), self._normalized_loop
        ring, block = root_buffer_of(move.destination), loop.body.block
        found: list[tuple[int, RingSlices | None]] = []
        for user, view in find_buffer_accesses_in_loop(ring, loop):
            if user is not move:
                around = block.find_ancestor_op_in_block(user)
                assert around is not None
                slices = find_ring_slices_of_view(view, loop)
                found.append((self.ops.index(around), slices))
        return found


def _facts_of_operation(
    top: Operation, block: Block, positions: Mapping[Operation, int]
) -> BodyOperation:
    """Return the facts of an operation of a body, and of the operations inside."""
    inside = list(top.walk())
    is_loop = isinstance(top, scf.ForOp | scf.ParallelOp)
    return BodyOperation(
        frozenset(_buffers_accessed_by(inside)),
        frozenset(root_buffer_of(b) for op in inside for b in written_buffers_of(op)),
        _move_facts_of(top, block) if isinstance(top, mem.Move) else None,
        frozenset(_queue_of(e) for e in inside if is_loop and isinstance(e, mem.Move)),
        [
            _body_buffer_of(output, block)
            for op in inside
            if isinstance(op, mem.ContractOp)
            for output in op.output_operands
        ],
        [
            positions.get(token.owner) if isinstance(token.owner, Operation) else None
            for op in inside
            if isinstance(op, mem.WaitOp)
            for token in op.tokens
        ],
        max_iterations_in_flight(top) if is_loop else 0,
        isinstance(top, mem.ContractOp),
        isinstance(top, mem.ContractOp) and _can_start_early(top),
    )


def _buffers_accessed_by(ops: Sequence[Operation]) -> Iterator[SSAValue]:
    for op in ops:
        if type(op) not in VIEW_OPS:
            yield from map(root_buffer_of, buffers_among(op.operands))


def _body_buffer_of(view: SSAValue, block: Block) -> BodyBuffer:
    root = root_buffer_of(view)
    is_local = isinstance(root.owner, mem.AllocOp) and root.owner.parent is block
    return BodyBuffer(root, mem.level_of(root.type), is_local)


def _move_facts_of(op: mem.Move, block: Block) -> BodyMove:
    return BodyMove(
        _body_buffer_of(op.source, block),
        _body_buffer_of(op.destination, block),
        ring_window_of(op.destination) is not None,
        None if isinstance(op, mem.DmaOp) else root_buffer_of(op.indices),
    )


def _queue_of(op: mem.Move) -> tuple[str, str]:
    return mem.level_of(op.source.type), mem.level_of(op.destination.type)


def _can_start_early(product: mem.ContractOp) -> bool:
    """
    Return `True` if a product overwrites its result, at an address that is known early.
    """
    inputs = map(root_buffer_of, product.input_operands)
    return (
        product.is_always_overwriting
        and needs_only_index_arithmetic(product)
        and root_buffer_of(product.acc) not in inputs
    )


def _temporary_bytes_of(ops: Sequence[Operation]) -> int:
    """
    Return the bytes of intermediate values of the maps of a body: those of the body
    itself, and of one map inside of its loops.
    """
    inner = [
        _intermediate_bytes_of_map(each)
        for op in ops
        for each in op.walk()
        if each is not op
    ]
    return sum(map(_intermediate_bytes_of_map, ops)) + max(inner, default=0)


def _intermediate_bytes_of_map(op: Operation) -> int:
    """Return the bytes of intermediate values of a map; 0 for other operations."""
    if not isinstance(op, mem.MapOp):
        return 0
    steps = len(scalar_operations_of_map(op))
    return prod(op.domain_extents) * TEMPORARY_BYTES * max(0, steps - 1)
