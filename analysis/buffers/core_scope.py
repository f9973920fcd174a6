"""Work and buffers that are private to cores around a loop distributed over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.mem_liveness import users_of_buffer
from tlf.analysis.buffers.memory_effects import VIEW_OPS, root_of, written_roots_of
from tlf.dialects import mem


class CoreConflictError(Exception):
    """
    Raised with the reason why the iterations of a loop cannot be distributed over
    cores.
    """


@dataclass(frozen=True)
class CoreScope:
    """A nest that every core executes around the loop distributed over cores."""

    nest: scf.ParallelOp
    core_loop: scf.ParallelOp
    private_levels: AbstractSet[str]
    """The levels that every core has for itself."""

    def collect_setup(self) -> Sequence[Operation]:
        """
        The operations before the nest that every core has to do, too: they bring what
        the nest uses into a level of the core. Raises `CoreConflictError` where cores
        would meet in what they do.
        """
        self._check_replicated_writes()
        found = self._collect_buffer_users()
        block = self.nest.parent
        assert block is not None
        ordered = [op for op in block.ops if op in found]
        self._check_movable(ordered)
        return ordered

    def _is_private(self, buffer: SSAValue) -> bool:
        return mem.level_of(buffer.type) in self.private_levels

    def _check_replicated_writes(self) -> None:
        """
        Check that operations outside of the distributed loop, which every core
        executes, write only the core's own levels. Raises `CoreConflictError`.
        """
        for op in self.nest.walk():
            if isinstance(op, mem.AllocOp) and not self._is_private(op.results[0]):
                raise CoreConflictError(
                    "it has buffers of its own in a level of the chip"
                )
            if isinstance(op, mem.Move) and not any(
                self._is_private(end) for end in (op.source, op.destination)
            ):
                raise CoreConflictError("it moves between levels of the chip")
        for op in self._replicated_operations():
            if any(not self._is_private(root) for root in written_roots_of(op)):
                raise CoreConflictError("it writes for all of its inner loop at once")
        for root in written_roots_of(self.core_loop):
            owner = root.owner
            if not self._is_private(root):
                continue
            if not isinstance(owner, Operation) or not self.core_loop.is_ancestor(
                owner
            ):
                raise CoreConflictError(
                    "its iterations write parts of one tile of a core"
                )

    def _replicated_operations(self) -> Iterator[Operation]:
        """The operations in the nest that are not in the dealt loop, nor around it."""
        around: Operation = self.core_loop
        while around is not self.nest:
            block = around.parent
            assert block is not None
            yield from (op for op in block.ops if op is not around)
            parent = around.parent_op()
            assert parent is not None
            around = parent

    def _collect_buffer_users(self) -> set[Operation]:
        """
        Return the operations that touch the buffers of a core that the nest uses and
        does not allocate. Raises `CoreConflictError`.
        """
        block = self.nest.parent
        found: set[Operation] = set()
        pending = list(_outside_buffers(self.nest, self.nest))
        seen: set[SSAValue] = set()
        while pending:
            root = pending.pop()
            if root in seen or not self._is_private(root):
                continue
            seen.add(root)
            owner = root.owner
            if not isinstance(owner, mem.AllocOp) or owner.parent is not block:
                raise CoreConflictError(
                    "it uses tiles that are there for several nests"
                )
            found.add(owner)
            for op in (*users_of_buffer(root), *_views_of(root)):
                outer = block.find_ancestor_op_in_block(op) if block else None
                if outer is None or outer is self.nest:
                    continue
                found.add(outer)
                pending += _outside_buffers(outer, outer)
        return found

    def _check_movable(self, ops: Sequence[Operation]) -> None:
        """
        Check that operations can be moved right before the nest. Raises
        `CoreConflictError`.
        """
        kept = {*ops, self.nest}
        self._check_not_overwritten(ops, kept)
        block = self.nest.parent
        assert block is not None
        for op in ops:
            if any(not self._is_private(root) for root in written_roots_of(op)):
                raise CoreConflictError("what it needs is computed beside other things")
            for result in op.results:
                for use in result.uses:
                    if block.find_ancestor_op_in_block(use.operation) not in kept:
                        raise CoreConflictError(
                            "what it needs is needed elsewhere, too"
                        )

    def _check_not_overwritten(
        self, ops: Sequence[Operation], kept: AbstractSet[Operation]
    ) -> None:
        """
        Check that nothing between some operations and the nest overwrites their reads.
        Raises `CoreConflictError`.
        """
        block = self.nest.parent
        assert block is not None
        reads: set[SSAValue] = set()
        left = len(ops)
        for op in block.ops:
            if op is self.nest:
                break
            if op in kept:
                left -= 1
                reads.update(_outside_buffers(op, op))
            elif reads & written_roots_of(op):
                raise CoreConflictError("what it needs is overwritten before it")
        if left:
            raise CoreConflictError("what it leaves in a core is used after it")


def _outside_buffers(op: Operation, around: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation uses and does not make."""
    for each in op.walk():
        for value in each.operands:
            if isinstance(value.type, MemRefType):
                root = root_of(value)
                owner = root.owner
                if not isinstance(owner, Operation) or not around.is_ancestor(owner):
                    yield root


def _views_of(buffer: SSAValue) -> Iterator[Operation]:
    """The views of a buffer, and views of them."""
    for use in buffer.uses:
        if isinstance(use.operation, VIEW_OPS):
            yield use.operation
            yield from _views_of(use.operation.results[0])
