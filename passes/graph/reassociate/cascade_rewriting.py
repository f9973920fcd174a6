"""Application of the reassociation rules to operations, with remarks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.call_invariants import invariant_values
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.passes.graph.reassociate.reassociation_rules import rule_for

PASS_NAME = "graph-expose-cascaded-reductions"
"""The pass that the remarks are of."""


def rewrite_operation(op: Operation, invariant: Collection[SSAValue]) -> bool:
    """
    Rewrite an operation by its reassociation rule, if it has one, and emit a remark.
    """
    if (rule := rule_for(op)) is None:
        return False
    name = op.name.removeprefix("graph.")
    graph.add_remark(op, PASS_NAME, "passed", rule.remark_text.format(name))
    return rule.apply(op, invariant)


def rewrite_operations(operations: Sequence[Operation]) -> bool:
    """Rewrite operations of one block by the rules for them."""
    block = _block_of(operations)
    return any(
        [
            rewrite_operation(op, invariant_values(block))
            for op in operations
            if rule_for(op) is not None
        ]
    )


@dataclass(frozen=True)
class OperationRewriting:
    """A change for the evaluator: reassociates the operations at some indices."""

    indices: tuple[int, ...]

    def __call__(self, operations: Sequence[Operation]) -> bool:
        return rewrite_operations(self.select_operations(operations))

    def select_operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Return the operations that are rewritten."""
        return [operations[place] for place in self.indices]


def rewrite_and_collect(operations: Sequence[TilingInterface]) -> list[TilingInterface]:
    """
    Rewrite operations of one block; return those that compute the same now, in order.
    """
    block = _block_of(operations)
    others = set(block.ops).difference(operations)
    rewrite_operations(operations)
    found = [op for op in block.ops if op not in others]
    used = set[Operation](others)
    for op in reversed(found):
        if any(use.operation in used for value in op.results for use in value.uses):
            used.add(op)
    return [
        op
        for op in found
        if op in used
        and isinstance(op, TilingInterface)
        and not isinstance(op, ConstantInterface)
    ]


def _block_of(operations: Sequence[Operation]) -> Block:
    block = operations[0].parent
    assert block is not None
    return block
