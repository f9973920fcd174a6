"""Analysis of tiles: their last uses, and those that share a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import tile


@dataclass(eq=False)
class SharedStorage:
    """
    Buffer shared by one or more values. `is_writable` is true if a dead value in it may
    be overwritten.
    """

    is_writable: bool = True
    is_destination: bool = False
    """True if it is allocated for loops to store tiles into."""
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    """Values that may still be used."""
    enclosing_storage: SharedStorage | None = None
    """Storage that contains this one, if any."""

    @property
    def outermost(self) -> SharedStorage:
        """Enclosing storage, or the storage itself."""
        return self if self.enclosing_storage is None else self.enclosing_storage


class TileLiveness:
    """Program order of the operations of every block, before any rewriting."""

    def __init__(self, top: Operation) -> None:
        self.position: dict[Operation, int] = {}
        for op in top.walk():
            for region in op.regions:
                for block in region.blocks:
                    for position, inner in enumerate(block.ops):
                        self.position[inner] = position

    def is_dead_after(self, value: SSAValue, op: Operation) -> bool:
        """
        Return `True` if nothing inside `op` or after it uses a value. A value of an
        outer block counts as used, since `op` may run again, unless `op` runs exactly
        once per execution of that block.
        """
        block, current = _defining_block_of(value), op
        ancestors = [current]
        while current.parent is not block:
            parent = current.parent_op()
            if parent is None or not _is_executed_once(parent):
                return False
            current = parent
            ancestors.append(current)
        return not any(
            self._is_used_later(use.operation, ancestors) for use in list(value.uses)
        )

    def _is_used_later(self, user: Operation, nested_ops: Sequence[Operation]) -> bool:
        """
        Return `True` if `user` runs after or inside the first of `nested_ops`, where
        each operation is inside the next one. Uses by the other operations of
        `nested_ops` only forward the value.
        """
        blocks = [each.parent for each in nested_ops]
        ancestor = user
        while ancestor.parent not in blocks:
            parent = ancestor.parent_op()
            assert parent is not None
            ancestor = parent
        level = nested_ops[blocks.index(ancestor.parent)]
        if ancestor is level:
            return (user is level) != (level is nested_ops[0])
        return self.position[ancestor] > self.position[level]

    def later_users(self, value: SSAValue, op: Operation) -> Iterator[Operation]:
        """
        Yield the operations inside `op` and after it that use a value of its block.
        """
        for use in value.uses:
            user = use.operation
            ancestor: Operation | None = user
            while ancestor is not None and ancestor.parent is not op.parent:
                ancestor = ancestor.parent_op()
            is_inside = ancestor is op and user is not op
            if ancestor is None or is_inside:
                yield user
            elif self.position[ancestor] > self.position[op]:
                yield user

    def try_reuse_dead_storage(self, storage: SharedStorage, op: Operation) -> bool:
        """
        Reuse the storage of dead operands for the result of `op`, if possible. The
        storage then drops its values, which are not used after `op`.
        """
        if not storage.is_writable:
            return False
        if not all(self.is_dead_after(other, op) for other in storage.values):
            return False
        storage.values.clear()
        return True


def _is_executed_once(op: Operation) -> bool:
    """
    Return `True` if the body of an operation runs exactly once per execution of the
    operation, in its place.
    """
    if not isinstance(op, tile.WhileOp) or op.step_values:
        return False
    return op.is_parallel and not op.mapping.data.is_grid


def _defining_block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent
