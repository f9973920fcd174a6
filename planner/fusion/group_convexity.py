"""
Planning of fusion: dependences between the operations of a block, and convexity of
groups.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.op_kinds import OpKinds
from tlf.analysis.tiling.structural_keys import key_of_wiring


class DependenceOrder:
    """
    Positions and dependences of the operations of a block, valid as long as the block
    does not change. Each operation is analyzed once, however many candidate groups
    contain it.
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
        value leaves them and comes back, directly or through another group. `groups`
        gives the operations, in program order, that each one is grouped with.
        """
        inside = set(operations)
        position, operands = self.position, self._operands
        first = position[operations[0]]
        pending = [op for each in operations for op in operands[each]]
        pending = [op for op in pending if op not in inside]
        visited = set[Operation]()
        while pending:
            op = pending.pop()
            members = groups.get(op, (op,))
            # Operations before the first one of the group do not depend on it.
            if op in visited or position[members[-1]] < first:
                continue
            visited.update(members)
            for producer in (p for each in members for p in operands[each]):
                if producer in inside:
                    return False
                pending.append(producer)
        return True

    def ancestors_of(self, operations: Sequence[Operation]) -> set[Operation]:
        """Return the other operations of the block that operations depend on."""
        found, pending = set(operations), list(operations)
        while pending:
            new = [op for op in self._operands[pending.pop()] if op not in found]
            found.update(new)
            pending += new
        return found.difference(operations)

    def descendants_of(self, operations: Sequence[Operation]) -> set[Operation]:
        """Return the other operations of the block that depend on operations."""
        found = set(operations)
        for op, operands in self._operands.items():
            if not found.isdisjoint(operands):
                found.add(op)
        return found.difference(operations)

    def externally_used_results_of(
        self, operations: Sequence[Operation]
    ) -> list[SSAValue]:
        """
        Return the values of operations that have other users, those of the last
        operation first.
        """
        inside = {self.position[op] for op in operations}
        return [
            result
            for op in reversed(operations)
            for result, readers in self._results_with_reader_positions(op)
            if not readers <= inside
        ]

    def structural_key_of(
        self, operations: Sequence[Operation], results: Sequence[SSAValue]
    ) -> Hashable:
        """Return the key of `StructuralKeys.key_of` for operations of the block."""
        wires = map(self._kind_and_value_indices_of, operations)
        return key_of_wiring(wires, (self._numbers[value] for value in results))

    def _results_with_reader_positions(
        self, op: Operation
    ) -> list[tuple[SSAValue, frozenset[int]]]:
        """
        Return the results of an operation, with the positions of their readers; -1 for
        readers outside of the block.
        """
        if (results := self._readers.get(op)) is None:
            results = self._readers[op] = [
                (
                    result,
                    frozenset(
                        self.position.get(use.operation, -1) for use in result.uses
                    ),
                )
                for result in op.results
            ]
        return results

    def _kind_and_value_indices_of(self, op: Operation) -> tuple[int, tuple[int, ...]]:
        """Return an operation's kind index, and those of its operands and results."""
        if (wiring := self._wires.get(op)) is None:
            values = (*op.operands, *op.results)
            indices = self._numbers
            wiring = self._wires[op] = (
                self._kinds.kind_of(op),
                tuple(indices.setdefault(each, len(indices)) for each in values),
            )
        return wiring


def _operands_in_block(op: Operation, block: Block) -> list[Operation]:
    """
    Return the operations of a block that an operation, or its nested operations, use.
    """
    owners = (operand.owner for inner in op.walk() for operand in inner.operands)
    producers = dict.fromkeys(each for each in owners if isinstance(each, Operation))
    return [each for each in producers if each.parent is block and each is not op]
