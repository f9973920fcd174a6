"""Writing the sums of some operations by the rules for them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.dialects.invariants import invariant_values
from tlf.passes.graph.reassociate.rules import rule_for

NAME = "graph-expose-cascaded-reductions"
"""The pass that notes what is written otherwise."""


def rewrite(op: Operation, invariant: Collection[SSAValue]) -> bool:
    """Rewrite an operation by the rule for it, if there is one, and note that."""
    if (rule := rule_for(op)) is None:
        return False
    name = op.name.removeprefix("graph.")
    graph.remark(op, NAME, "passed", rule.text.format(name))
    return rule.apply(op, invariant)


def rewrite_all(operations: Sequence[Operation]) -> bool:
    """Rewrite operations of one block by the rules for them."""
    block = _block_of(operations)
    return any(
        [
            rewrite(op, invariant_values(block))
            for op in operations
            if rule_for(op) is not None
        ]
    )


@dataclass(frozen=True)
class Rewriting:
    """Rewrites some of the operations that are given."""

    places: tuple[int, ...]

    def __call__(self, operations: Sequence[Operation]) -> bool:
        return rewrite_all(self.of(operations))

    def of(self, operations: Sequence[Operation]) -> list[Operation]:
        """Those that are rewritten."""
        return [operations[place] for place in self.places]


def rewritten(operations: Sequence[TilingInterface]) -> list[TilingInterface]:
    """Rewrite operations of one block; return what computes the same now, in order."""
    block = _block_of(operations)
    others = set(block.ops).difference(operations)
    rewrite_all(operations)
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
