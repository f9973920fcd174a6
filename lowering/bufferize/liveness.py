"""Which tile is used for the last time where, and which share a buffer."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue


@dataclass(eq=False)
class Storage:
    """
    A place that one or more values share. `writable` says whether a value that nobody
    uses any more may be overwritten.
    """

    writable: bool = True
    values: list[SSAValue] = field(default_factory=list[SSAValue])


class Liveness:
    """
    The order of the operations of every block, as it is before anything is rewritten.
    """

    def __init__(self, top: Operation) -> None:
        self.position: dict[Operation, int] = {}
        for op in top.walk():
            for region in op.regions:
                for block in region.blocks:
                    for position, inner in enumerate(block.ops):
                        self.position[inner] = position

    def dead_after(self, value: SSAValue, op: Operation) -> bool:
        """
        Whether nothing after `op` uses a value. A value of an outer block counts as
        used, for `op` may run again.
        """
        if _block_of(value) is not op.parent:
            return False
        return all(self._before(use.operation, op) for use in value.uses)

    def _before(self, user: Operation, op: Operation) -> bool:
        ancestor: Operation | None = user
        while ancestor is not None and ancestor.parent is not op.parent:
            ancestor = ancestor.parent_op()
        if ancestor is None:
            return False
        return self.position[ancestor] <= self.position[op]

    def overwritable(self, storage: Storage, op: Operation) -> bool:
        """
        Whether `op` may put its result where an operand of it is, provided that it
        reads what is there before it writes.
        """
        if not storage.writable:
            return False
        return all(self.dead_after(other, op) for other in storage.values)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent
