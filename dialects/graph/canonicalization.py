"""Patterns that bring graph operations to their simplest form."""

from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.graph import movement
from tlf.dialects.graph.tensors import axes_attribute


class MergeShapesPattern(RewritePattern):
    """
    Reshape, or broadcast, what the first of two such operations started from.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: movement.ReshapeOp | movement.BroadcastOp,
        rewriter: PatternRewriter,
        /,
    ) -> None:
        if not isinstance(first := op.operand.owner, type(op)):
            return
        rewriter.replace(
            op,
            type(op).create(
                operands=[first.operand],
                result_types=op.result_types,
                attributes=op.attributes,
            ),
        )


class MergeTransposesPattern(RewritePattern):
    """
    Permute what the first of two transposes started from.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: movement.TransposeOp, rewriter: PatternRewriter, /
    ) -> None:
        if not isinstance(first := op.operand.owner, movement.TransposeOp):
            return
        permutation = [first.axis_list[axis] for axis in op.axis_list]
        rewriter.replace(
            op,
            movement.TransposeOp.create(
                operands=[first.operand],
                properties={"permutation": axes_attribute(permutation)},
                result_types=op.result_types,
                attributes=op.attributes,
            ),
        )
