"""Rewrite rules of the `graph` dialect: canonicalization patterns of `im2col`."""

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.graph.im2col import Im2colOp
from tlf.dialects.graph.movement import ReshapeOp, TransposeOp
from tlf.dialects.graph.rewrites.simplification import is_outside_groups
from tlf.dialects.graph.tensor_types import shape_of


class Im2colToReshapePattern(RewritePattern):
    """Replace an im2col that keeps the row-major order of all elements by a reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Im2colOp, rewriter: PatternRewriter, /) -> None:
        if not op.is_reshape() or not is_outside_groups(op):
            return
        reshape = ReshapeOp.create(
            operands=[op.operand],
            result_types=op.result_types,
            attributes=op.attributes,
        )
        rewriter.replace(op, reshape)


class MergeIm2colDigitsPattern(RewritePattern):
    """Drop digits of extent 1, and merge neighbours that are read as one digit."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Im2colOp, rewriter: PatternRewriter, /) -> None:
        if (merged := op.build_with_merged_digits()) is not None:
            merged.attributes = dict(op.attributes)
            rewriter.replace(op, merged)


class FoldTransposeIntoIm2colPattern(RewritePattern):
    """
    Read the operand of a transpose instead of its result, if both have the same axis
    innermost. Another innermost axis may be contiguous on purpose: a gather reads it
    several times, the transpose moves it once.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Im2colOp, rewriter: PatternRewriter, /) -> None:
        transpose = op.operand.owner
        if not isinstance(transpose, TransposeOp) or not is_outside_groups(op):
            return
        if not _keeps_innermost_axis(shape_of(transpose.operand), transpose.axis_list):
            return
        map_, axes = op.map.data, transpose.axis_list
        results = tuple(map_.results[axes.index(axis)] for axis in range(len(axes)))
        permuted = AffineMap(map_.num_dims, 0, results)
        folded = Im2colOp.create(
            operands=[transpose.operand],
            result_types=op.result_types,
            properties={**op.properties, "map": AffineMapAttr(permuted)},
            attributes=op.attributes,
        )
        rewriter.replace(op, folded)


class FoldReshapeOfIm2colPattern(RewritePattern):
    """
    Replace a reshape of an im2col with one use by an im2col with a basis of its shape.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        first = op.operand.owner
        if not isinstance(first, Im2colOp) or first.result.uses.get_length() > 1:
            return
        if first.attributes or op.attributes or not is_outside_groups(op):
            return
        if (reshaped := first.build_reshaped(shape_of(op.result))) is not None:
            rewriter.replace(op, reshaped)


def _keeps_innermost_axis(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """Return `True` if the innermost axis of several elements remains innermost."""
    long = [axis for axis in permutation if shape[axis] > 1]
    return not long or long[-1] == max(long)
