"""Join tensors where they lie."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph, tile
from tlf.dialects.joining import JoiningInterface


class JoinPattern(RewritePattern):
    """
    Put tensors that are joined outside of groups into a new one. It is there before the
    first of them is made, so that each can be made in its place.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, JoiningInterface):
            return
        if isinstance(op.parent_op(), graph.GroupOp):
            return
        whole = tile.EmptyOp(op.results[0].type)
        rewriter.insert(whole, InsertPoint.before(_first(op)))
        joined: SSAValue = whole.result
        for operand, offsets in zip(op.operands, op.places(), strict=True):
            put = rewriter.insert(tile.DesliceOp(operand, joined, offsets))
            put.location = op.location
            joined = put.result
        whole.location = op.location
        rewriter.replace(op, (), (joined,))


def _first(op: Operation) -> Operation:
    """The first operation of the block that makes what is joined."""
    makers = {op}
    for operand in op.operands:
        value = operand
        while isinstance(owner := value.owner, tile.DesliceOp):
            value = owner.destination
        if isinstance(value.owner, Operation):
            makers.add(value.owner)
    assert op.parent is not None
    return next(each for each in op.parent.ops if each in makers)
