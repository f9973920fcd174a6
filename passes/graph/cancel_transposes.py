"""
Rewrite pattern of the pass `graph-hoist-reshapes` that cancels transposes with reshapes
in between.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.permuted_digits import PermutedDigits
from tlf.passes.op_replacement import is_in_planned_group


@dataclass
class CancelTransposesPattern(RewritePattern):
    """
    Replace a chain of transposes and reshapes that keeps the order of elements by one
    reshape: the pixels of an image with channels last, moved behind the channels and,
    as one axis, before them again.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.TransposeOp) or is_in_planned_group(op):
            return
        chain = PermutedDigits.of_chain(op.result)
        if chain.source is op.result or not chain.keeps_order:
            return
        shape = tensor_type(op.result).get_shape()
        rewriter.replace(op, [], [reshape_to(chain.source, shape, rewriter)])
