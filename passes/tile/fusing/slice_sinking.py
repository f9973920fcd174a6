"""
Sinking of slices that stand between two nests into the second one.

A tile of what the first of two nests results in keeps them apart, as it stands between
them. Within the second it is cut again in every iteration, of what is there by then.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.motion_legality import operations_between
from tlf.dialects import tile


def sink_slices(first: tile.WhileOp, second: tile.WhileOp) -> list[Operation]:
    """
    Sink the slices of the first nest's results that only the second uses into it;
    return them.
    """
    found: list[Operation] = [
        op
        for op in operations_between(first, second)
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


def hoist_slices(operations: list[Operation], second: tile.WhileOp) -> None:
    """Hoist slices back in front of the nest."""
    for op in operations:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(second))
