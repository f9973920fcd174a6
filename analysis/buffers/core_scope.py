"""
Analysis of a loop distributed over cores: work and buffers around it that are private
to cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.mem_liveness import users_of_buffer
from tlf.analysis.buffers.memory_effects import (
    VIEW_OPS,
    root_buffer_of,
    root_buffers_written_in,
)
from tlf.dialects import mem


class CoreConflictError(Exception):
    """
    Error: the iterations of a loop cannot be distributed over cores. The message is the
    reason.
    """


@dataclass(frozen=True)
class CoreScope:
    """Nest that every core executes around the loop distributed over cores."""

    nest: scf.ParallelOp
    core_loop: scf.ParallelOp
    private_levels: AbstractSet[str]
    """Names of the memory levels that each core has for itself."""

    def collect_setup_operations(self) -> Sequence[Operation]:
        """
        Return the operations before the nest that every core must also execute: they
        load operands of the nest into a private level. Raises `CoreConflictError` if
        cores would conflict.
        """
        self._check_replicated_writes()
        setup = self._collect_private_buffer_users()
        block = self.nest.parent
        assert block is not None
        ordered = [op for op in block.ops if op in setup]
        self._check_movable_before_nest(ordered)
        return ordered

    def _is_private_buffer(self, buffer: SSAValue) -> bool:
        return mem.level_of(buffer.type) in self.private_levels

    def _check_replicated_writes(self) -> None:
        """
        Check that operations outside of the distributed loop, which every core
        executes, write only private levels. Raises `CoreConflictError`.
        """
        for op in self.nest.walk():
            if isinstance(op, mem.AllocOp) and not self._is_private_buffer(
                op.results[0]
            ):
                raise CoreConflictError("it allocates buffers in a shared level")
            if isinstance(op, mem.Move) and not any(
                self._is_private_buffer(end) for end in (op.source, op.destination)
            ):
                raise CoreConflictError("it moves between shared levels")
        for op in self._operations_run_by_every_core():
            if any(
                not self._is_private_buffer(root)
                for root in root_buffers_written_in(op)
            ):
                raise CoreConflictError(
                    "it writes a shared level outside of the distributed loop"
                )
        for root in root_buffers_written_in(self.core_loop):
            owner = root.owner
            if not self._is_private_buffer(root):
                continue
            if not isinstance(owner, Operation) or not self.core_loop.is_ancestor(
                owner
            ):
                raise CoreConflictError("its iterations write to one private tile")

    def _operations_run_by_every_core(self) -> Iterator[Operation]:
        """
        Yield the operations in the nest that are neither in the distributed loop nor
        around it.
        """
        current: Operation = self.core_loop
        while current is not self.nest:
            block = current.parent
            assert block is not None
            yield from (op for op in block.ops if op is not current)
            parent = current.parent_op()
            assert parent is not None
            current = parent

    def _collect_private_buffer_users(self) -> set[Operation]:
        """
        Return the operations that access private buffers that the nest uses and does
        not allocate. Raises `CoreConflictError`.
        """
        block = self.nest.parent
        found: set[Operation] = set()
        pending = list(_buffers_from_outside(self.nest, self.nest))
        visited: set[SSAValue] = set()
        while pending:
            root = pending.pop()
            if root in visited or not self._is_private_buffer(root):
                continue
            visited.add(root)
            owner = root.owner
            if not isinstance(owner, mem.AllocOp) or owner.parent is not block:
                raise CoreConflictError(
                    "it uses a private tile that is not allocated in its block"
                )
            found.add(owner)
            for op in (*users_of_buffer(root), *_views_of(root)):
                outer = block.find_ancestor_op_in_block(op) if block else None
                if outer is None or outer is self.nest:
                    continue
                found.add(outer)
                pending += _buffers_from_outside(outer, outer)
        return found

    def _check_movable_before_nest(self, ops: Sequence[Operation]) -> None:
        """
        Check that operations can be moved right before the nest. Raises
        `CoreConflictError`.
        """
        allowed_users = {*ops, self.nest}
        self._check_reads_not_overwritten(ops, allowed_users)
        block = self.nest.parent
        assert block is not None
        for op in ops:
            if any(
                not self._is_private_buffer(root)
                for root in root_buffers_written_in(op)
            ):
                raise CoreConflictError(
                    "an operation that it depends on also writes a shared level"
                )
            for result in op.results:
                for use in result.uses:
                    if (
                        block.find_ancestor_op_in_block(use.operation)
                        not in allowed_users
                    ):
                        raise CoreConflictError(
                            "an operation that it depends on has other users"
                        )

    def _check_reads_not_overwritten(
        self, ops: Sequence[Operation], unmoved: AbstractSet[Operation]
    ) -> None:
        """
        Check that nothing between the operations and the nest overwrites a buffer that
        they read. Raises `CoreConflictError`.
        """
        block = self.nest.parent
        assert block is not None
        reads: set[SSAValue] = set()
        remaining = len(ops)
        for op in block.ops:
            if op is self.nest:
                break
            if op in unmoved:
                remaining -= 1
                reads.update(_buffers_from_outside(op, op))
            elif reads & root_buffers_written_in(op):
                raise CoreConflictError(
                    "an operand of its setup is overwritten before it"
                )
        if remaining:
            raise CoreConflictError("its private buffers are used after it")


def _buffers_from_outside(op: Operation, enclosing_op: Operation) -> Iterator[SSAValue]:
    """
    Yield the buffers that an operation uses and that are defined outside of
    `enclosing_op`.
    """
    for each in op.walk():
        for value in each.operands:
            if isinstance(value.type, MemRefType):
                root = root_buffer_of(value)
                owner = root.owner
                if not isinstance(owner, Operation) or not enclosing_op.is_ancestor(
                    owner
                ):
                    yield root


def _views_of(buffer: SSAValue) -> Iterator[Operation]:
    """
    Yield the operations whose results are views of a buffer, or views of its views.
    """
    for use in buffer.uses:
        if isinstance(use.operation, VIEW_OPS):
            yield use.operation
            yield from _views_of(use.operation.results[0])
