"""
Lowering of concats outside of groups to tile operations: operands are written into
slices of the result.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph, tile
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.slice_views import is_axis_merge


class ConcatOperandInsertionPattern(RewritePattern):
    """
    Insert the operands of a concat into a tensor that is created before the first
    operand, so that each operand can be computed in place.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ConcatLikeInterface):
            return
        if isinstance(op.parent_op(), graph.GroupOp):
            return
        empty = tile.EmptyOp(op.results[0].type)
        rewriter.insert(empty, InsertPoint.before(_first_concat_operand_producer(op)))
        result: SSAValue = empty.result
        for operand, offsets in zip(op.operands, op.operand_offsets(), strict=True):
            insertion = rewriter.insert(tile.DesliceOp(operand, result, offsets))
            insertion.location = op.location
            result = insertion.result
        empty.location = op.location
        rewriter.replace(op, (), (result,))


def _first_concat_operand_producer(concat_op: Operation) -> Operation:
    """
    Return the first operation in the block that produces a concat operand, possibly
    with axes that a view merges.
    """
    producers = {concat_op}
    for operand in concat_op.operands:
        value = operand
        while isinstance(owner := value.owner, tile.DesliceOp):
            value = owner.destination
        if isinstance(owner, Operation) and is_axis_merge(owner):
            owner = owner.operands[0].owner
        if isinstance(owner, Operation):
            producers.add(owner)
    assert concat_op.parent is not None
    return next(each for each in concat_op.parent.ops if each in producers)
