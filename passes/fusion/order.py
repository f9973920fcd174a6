"""Whether operations can run together without waiting for what waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation


class Order:
    """
    Where the operations of a block are, and which others they use, while these stay
    what they are.
    """

    def __init__(self, block: Block) -> None:
        self.position = {op: index for index, op in enumerate(block.ops)}
        self._operands = {op: _operands(op, block) for op in self.position}

    def is_convex(
        self,
        operations: Sequence[Operation],
        groups: Mapping[Operation, Sequence[Operation]],
    ) -> bool:
        """
        Whether no value leaves the operations of the block, given in program order, and
        comes back to them, be it by way of another group. `groups` says with which
        others, in program order, each operation is.
        """
        inside = set(operations)
        position, operands = self.position, self._operands
        first = position[operations[0]]
        pending = [op for each in operations for op in operands[each]]
        pending = [op for op in pending if op not in inside]
        seen = set[Operation]()
        while pending:
            op = pending.pop()
            together = groups.get(op, (op,))
            # What comes before all of the group uses nothing of it.
            if op in seen or position[together[-1]] < first:
                continue
            seen.update(together)
            for producer in (p for each in together for p in operands[each]):
                if producer in inside:
                    return False
                pending.append(producer)
        return True


def _operands(op: Operation, block: Block) -> list[Operation]:
    """The operations of a block that an operation, or what is inside of it, uses."""
    owners = (operand.owner for inner in op.walk() for operand in inner.operands)
    found = dict.fromkeys(each for each in owners if isinstance(each, Operation))
    return [each for each in found if each.parent is block and each is not op]
