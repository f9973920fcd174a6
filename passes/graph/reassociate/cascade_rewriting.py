"""
Rewrite of operations by the reassociation rules, with remarks, for the passes
`graph-expose-cascaded-reductions` and `graph-split-k-reductions`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.passes.graph.reassociate.reassociation_rules import reassociation_rule_for

PASS_NAME = "graph-expose-cascaded-reductions"
"""Pass name of the remarks."""


def reassociate_operation(op: Operation, invariant: Collection[SSAValue]) -> bool:
    """
    Rewrite an operation by its reassociation rule, if it has one, and emit a remark.
    Return `True` if the operation was rewritten.
    """
    if (rule := reassociation_rule_for(op)) is None:
        return False
    name = op.name.removeprefix("graph.")
    graph.add_remark(op, PASS_NAME, "passed", rule.remark_text.format(name))
    return rule.apply(op, invariant)


def reassociate_operations(operations: Sequence[Operation]) -> bool:
    """
    Rewrite operations of one block by their rules. Return `True` if any was rewritten.
    """
    block = _block_of_operations(operations)
    return any(
        [
            reassociate_operation(op, call_invariant_values_of(block))
            for op in operations
            if reassociation_rule_for(op) is not None
        ]
    )


@dataclass(frozen=True)
class ReassociationChange:
    """
    A change for `ChangeEvaluator` that reassociates the operations at
    `operation_indices`.
    """

    operation_indices: tuple[int, ...]

    def __call__(self, operations: Sequence[Operation]) -> bool:
        return reassociate_operations(self.select_operations(operations))

    def select_operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Return the operations to rewrite."""
        return [operations[index] for index in self.operation_indices]


def reassociate_and_collect(
    operations: Sequence[TilingInterface],
) -> list[TilingInterface]:
    """
    Rewrite operations of one block, and return the operations that replace them, in
    program order and without constants.
    """
    block = _block_of_operations(operations)
    unchanged = set(block.ops).difference(operations)
    reassociate_operations(operations)
    candidates = [op for op in block.ops if op not in unchanged]
    used = set[Operation](unchanged)
    for op in reversed(candidates):
        if any(use.operation in used for value in op.results for use in value.uses):
            used.add(op)
    return [
        op
        for op in candidates
        if op in used
        and isinstance(op, TilingInterface)
        and not isinstance(op, ConstantInterface)
    ]


def _block_of_operations(operations: Sequence[Operation]) -> Block:
    block = operations[0].parent
    assert block is not None
    return block
