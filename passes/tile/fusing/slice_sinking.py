"""
Rewrite of the pass `tile-fuse-loops`: sinking of slices between two nests into the
second nest.

A slice of a result of the first nest depends on it, and prevents fusion with the second
nest. In the body of the second nest, it is taken in every iteration from the elements
written up to then.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.motion_legality import operations_between
from tlf.dialects import tile


def sink_slices(first: tile.WhileOp, second: tile.WhileOp) -> list[Operation]:
    """
    Sink slices of results of the first nest that are only used inside of the second
    nest into its body, and return them.
    """
    slices: list[Operation] = [
        op
        for op in operations_between(first, second)
        if isinstance(op, tile.SliceOp)
        and op.source.owner is first
        and all(
            second.is_ancestor(use.operation) and use.operation is not second
            for use in op.result.uses
        )
    ]
    for op in reversed(slices):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.at_start(second.body.block))
    return slices


def hoist_slices(operations: list[Operation], second: tile.WhileOp) -> None:
    """Hoist slices back above the nest."""
    for op in operations:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(second))
