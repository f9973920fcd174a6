"""Dependences between the operations of a block, and the convexity of groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.op_kinds import OpKinds
from tlf.analysis.tiling.structural_keys import key_of_wiring


class DependenceOrder:
    """
    Positions and dependences of the operations of a block, while these stay what they
    are. Each is looked at once, however many groups it is tried in.
    """

    def __init__(self, block: Block, kinds: OpKinds | None = None) -> None:
        self.position = {op: index for index, op in enumerate(block.ops)}
        self._operands = {op: _operands_in_block(op, block) for op in self.position}
        self._kinds = kinds or OpKinds()
        self._numbers: dict[SSAValue, int] = {}
        self._wires: dict[Operation, tuple[int, tuple[int, ...]]] = {}
        self._readers: dict[Operation, list[tuple[SSAValue, frozenset[int]]]] = {}

    def is_convex(
        self,
        operations: Sequence[Operation],
        groups: Mapping[Operation, Sequence[Operation]],
    ) -> bool:
        """
        Return `True` if operations of the block, given in program order, are convex: no
        value leaves them and comes back, be it by way of another group. `groups` gives
        the operations, in program order, that each one is grouped with.
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

    def results_of(self, operations: Sequence[Operation]) -> list[SSAValue]:
        """The values of some operations that others use, that of the last one first."""
        inside = {self.position[op] for op in operations}
        return [
            result
            for op in reversed(operations)
            for result, readers in self._read_results(op)
            if not readers <= inside
        ]

    def structure_of(
        self, operations: Sequence[Operation], results: Sequence[SSAValue]
    ) -> Hashable:
        """The key of `StructuralKeys.key_of` for operations of the block."""
        wires = map(self._wiring_of, operations)
        return key_of_wiring(wires, (self._numbers[value] for value in results))

    def _read_results(self, op: Operation) -> list[tuple[SSAValue, frozenset[int]]]:
        """Results, with the places of their readers; -1 for those elsewhere."""
        if (known := self._readers.get(op)) is None:
            known = self._readers[op] = [
                (
                    result,
                    frozenset(
                        self.position.get(use.operation, -1) for use in result.uses
                    ),
                )
                for result in op.results
            ]
        return known

    def _wiring_of(self, op: Operation) -> tuple[int, tuple[int, ...]]:
        """The kind of an operation, and numbers for its values."""
        if (known := self._wires.get(op)) is None:
            values = (*op.operands, *op.results)
            numbers = self._numbers
            known = self._wires[op] = (
                self._kinds.of(op),
                tuple(numbers.setdefault(each, len(numbers)) for each in values),
            )
        return known


def _operands_in_block(op: Operation, block: Block) -> list[Operation]:
    """The operations of a block that an operation, or what is inside of it, uses."""
    owners = (operand.owner for inner in op.walk() for operand in inner.operands)
    found = dict.fromkeys(each for each in owners if isinstance(each, Operation))
    return [each for each in found if each.parent is block and each is not op]
