"""Work and buffers that are private to cores around a loop distributed over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.mem_liveness import users
from tlf.analysis.buffers.touches import VIEWS, root_of, written_roots
from tlf.dialects import mem


class SharedError(Exception):
    """
    Raised with the reason why the iterations of a loop cannot be distributed over
    cores.
    """


@dataclass(frozen=True)
class CoreScope:
    """
    A nest that every core walks, `dealt` being the loop in it, or the nest itself, of
    which each does a part.
    """

    nest: scf.ParallelOp
    dealt: scf.ParallelOp
    own: AbstractSet[str]
    """The levels that every core has for itself."""

    def before(self) -> Sequence[Operation]:
        """
        The operations before the nest that every core has to do, too: they bring what
        the nest uses into a level of the core. Raises `SharedError` where cores would
        meet in what they do.
        """
        self._check_inside()
        found = self._gathered()
        block = self.nest.parent
        assert block is not None
        ordered = [op for op in block.ops if op in found]
        self._check_moved(ordered)
        return ordered

    def _is_own(self, buffer: SSAValue) -> bool:
        return mem.level_of(buffer.type) in self.own

    def _check_inside(self) -> None:
        """
        Check that operations outside of the distributed loop, which every core
        executes, write only the core's own levels. Raises `SharedError`.
        """
        for op in self.nest.walk():
            if isinstance(op, mem.AllocOp) and not self._is_own(op.results[0]):
                raise SharedError("it has buffers of its own in a level of the chip")
            if isinstance(op, mem.Move) and not any(
                self._is_own(end) for end in (op.source, op.destination)
            ):
                raise SharedError("it moves between levels of the chip")
        for op in self._beside():
            if any(not self._is_own(root) for root in written_roots(op)):
                raise SharedError("it writes for all of its inner loop at once")
        for root in written_roots(self.dealt):
            owner = root.owner
            if not self._is_own(root):
                continue
            if not isinstance(owner, Operation) or not self.dealt.is_ancestor(owner):
                raise SharedError("its iterations write parts of one tile of a core")

    def _beside(self) -> Iterator[Operation]:
        """The operations in the nest that are not in the dealt loop, nor around it."""
        around: Operation = self.dealt
        while around is not self.nest:
            block = around.parent
            assert block is not None
            yield from (op for op in block.ops if op is not around)
            parent = around.parent_op()
            assert parent is not None
            around = parent

    def _gathered(self) -> set[Operation]:
        """
        Return the operations that touch the buffers of a core that the nest uses and
        does not allocate. Raises `SharedError`.
        """
        block = self.nest.parent
        found: set[Operation] = set()
        pending = list(_outside(self.nest, self.nest))
        seen: set[SSAValue] = set()
        while pending:
            root = pending.pop()
            if root in seen or not self._is_own(root):
                continue
            seen.add(root)
            owner = root.owner
            if not isinstance(owner, mem.AllocOp) or owner.parent is not block:
                raise SharedError("it uses tiles that are there for several nests")
            found.add(owner)
            for op in (*users(root), *_views(root)):
                outer = block.find_ancestor_op_in_block(op) if block else None
                if outer is None or outer is self.nest:
                    continue
                found.add(outer)
                pending += _outside(outer, outer)
        return found

    def _check_moved(self, ops: Sequence[Operation]) -> None:
        """
        Check that operations can be moved right before the nest. Raises `SharedError`.
        """
        kept = {*ops, self.nest}
        self._check_order(ops, kept)
        block = self.nest.parent
        assert block is not None
        for op in ops:
            if any(not self._is_own(root) for root in written_roots(op)):
                raise SharedError("what it needs is computed beside other things")
            for result in op.results:
                for use in result.uses:
                    if block.find_ancestor_op_in_block(use.operation) not in kept:
                        raise SharedError("what it needs is needed elsewhere, too")

    def _check_order(
        self, ops: Sequence[Operation], kept: AbstractSet[Operation]
    ) -> None:
        """
        Check that nothing between some operations and the nest overwrites their reads.
        Raises `SharedError`.
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
                reads.update(_outside(op, op))
            elif reads & written_roots(op):
                raise SharedError("what it needs is overwritten before it")
        if left:
            raise SharedError("what it leaves in a core is used after it")


def _outside(op: Operation, around: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation uses and does not make."""
    for each in op.walk():
        for value in each.operands:
            if isinstance(value.type, MemRefType):
                root = root_of(value)
                owner = root.owner
                if not isinstance(owner, Operation) or not around.is_ancestor(owner):
                    yield root


def _views(buffer: SSAValue) -> Iterator[Operation]:
    """The views of a buffer, and views of them."""
    for use in buffer.uses:
        if isinstance(use.operation, VIEWS):
            yield use.operation
            yield from _views(use.operation.results[0])
