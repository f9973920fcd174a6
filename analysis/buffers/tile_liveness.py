"""Last uses of tiles, and tiles that share a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import tile


@dataclass(eq=False)
class SharedStorage:
    """
    A buffer that one or more values share. `writable` says whether a value that nobody
    uses any more may be overwritten.
    """

    is_writable: bool = True
    is_destination: bool = False
    """True if it is allocated for loops to put tiles into."""
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    """The values that may still be used."""
    enclosing: SharedStorage | None = None
    """The place that this is a part of, if any."""

    @property
    def outermost(self) -> SharedStorage:
        """The place itself, or the one around it."""
        return self if self.enclosing is None else self.enclosing


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
        Return `True` if nothing inside of `op` or after it uses a value. A value of an
        outer block counts as used, since `op` may run again, unless `op` runs exactly
        once per execution of that block.
        """
        block, around = _block_of(value), op
        levels = [around]
        while around.parent is not block:
            parent = around.parent_op()
            if parent is None or not _is_executed_once(parent):
                return False
            around = parent
            levels.append(around)
        return not any(
            self._is_later(use.operation, levels) for use in list(value.uses)
        )

    def _is_later(self, user: Operation, levels: Sequence[Operation]) -> bool:
        """
        Return `True` if an operation comes after the first of some operations, each
        inside of the next one, or is inside of it. Uses by the others only pass the
        value on.
        """
        blocks = [each.parent for each in levels]
        ancestor = user
        while ancestor.parent not in blocks:
            parent = ancestor.parent_op()
            assert parent is not None
            ancestor = parent
        level = levels[blocks.index(ancestor.parent)]
        if ancestor is level:
            return (user is level) != (level is levels[0])
        return self.position[ancestor] > self.position[level]

    def later_users(self, value: SSAValue, op: Operation) -> Iterator[Operation]:
        """The operations inside of `op` and after it that use a value of its block."""
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

    def try_reuse(self, storage: SharedStorage, op: Operation) -> bool:
        """
        Reuse the storage of a dead operand for the result of `op`, if possible. The
        place then forgets its values, which nothing uses after `op`.
        """
        if not storage.is_writable:
            return False
        if not all(self.is_dead_after(other, op) for other in storage.values):
            return False
        storage.values.clear()
        return True


def _is_executed_once(op: Operation) -> bool:
    """
    Return `True` if the body of an operation runs exactly once per execution of it, in
    its place.
    """
    if not isinstance(op, tile.WhileOp) or op.step_values:
        return False
    return op.is_parallel and op.mapping.data is not tile.Mapping.GRID


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent
