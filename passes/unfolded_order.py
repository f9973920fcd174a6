"""In which order the axes of what is gathered by a map lie."""

from __future__ import annotations

from math import prod

from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects import graph
from tlf.dialects.interfaces import indexing_map
from tlf.dialects.types import tensor_type
from tlf.passes.replacement import is_planned

REPEATED = 2
"""How many times more elements than there are have to be gathered of a tensor."""


class OrderUnfoldedPattern(RewritePattern):
    """
    Let what is gathered side by side lie side by side, where a gather repeats elements:
    so few are moved for that, as a table of biases by distance and head is, of which
    scores of one head take many.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.UnfoldOp, rewriter: PatternRewriter, /
    ) -> None:
        if is_planned(op) or (axis := _gathered_last(op)) is None:
            return
        (accesses,) = op.operand_accesses()
        order = [each for each in range(len(accesses)) if each != axis]
        order.append(axis)
        moved = graph.TransposeOp(op.operand, order)
        shape = tensor_type(op.result).get_shape()
        map_ = indexing_map(tuple(accesses[each] for each in order), len(shape))
        gathered = graph.UnfoldOp(moved, map_.data, shape, op.number)
        moved.location = op.location
        rewriter.replace(op, [moved, gathered])


def _gathered_last(op: graph.UnfoldOp) -> int | None:
    """
    The axis along which the last axis of the result runs, if that should be the last
    one of the operand, but is not.
    """
    shape = tensor_type(op.operand).get_shape()
    result = tensor_type(op.result).get_shape()
    if prod(result) < REPEATED * prod(shape):
        return None
    (accesses,) = op.operand_accesses()
    last = max((axis for axis, extent in enumerate(result) if extent > 1), default=None)
    if last is None:
        return None
    along = [n for n, access in enumerate(accesses) if access.uses({last})]
    if len(along) != 1:
        return None
    behind = [extent for extent in shape[along[0] + 1 :] if extent > 1]
    return along[0] if behind else None
