"""
Cutting tiles inside of the nest that needs them, where they were cut in front of it.

A tile of what the first of two nests results in keeps them apart, as it stands between
them. Within the second it is cut again in every iteration, of what is there by then.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.between import between_operations
from tlf.dialects import tile


def sink(first: tile.WhileOp, second: tile.WhileOp) -> list[Operation]:
    """
    Move the slices of results of the first nest that only the second uses into it;
    returns them.
    """
    found: list[Operation] = [
        op
        for op in between_operations(first, second)
        if isinstance(op, tile.SliceOp)
        and op.source.owner is first
        and all(
            second.is_ancestor(use.operation) and use.operation is not second
            for use in op.result.uses
        )
    ]
    for op in reversed(found):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.at_start(second.body.block))
    return found


def lift(operations: list[Operation], second: tile.WhileOp) -> None:
    """Move slices in front of the nest that they were moved into."""
    for op in operations:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(second))
