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


def sink_slices_into_later_nest(
    earlier_nest: tile.WhileOp, later_nest: tile.WhileOp
) -> list[Operation]:
    """
    Sink slices of results of the first nest that are only used inside of the second
    nest into its body, and return them.
    """
    slices: list[Operation] = [
        op
        for op in operations_between(earlier_nest, later_nest)
        if isinstance(op, tile.SliceOp)
        and op.source.owner is earlier_nest
        and all(
            later_nest.is_ancestor(use.operation) and use.operation is not later_nest
            for use in op.result.uses
        )
    ]
    for op in reversed(slices):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.at_start(later_nest.body.block))
    return slices


def hoist_slices_above_nest(operations: list[Operation], nest: tile.WhileOp) -> None:
    """Hoist slices back above the nest."""
    for op in operations:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(nest))
