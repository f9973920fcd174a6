"""
Rewrite rules of the `graph` dialect: canonicalization patterns of movements, gathers
and scatters.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.graph import movement
from tlf.dialects.graph.affine_tensors import affine_tensor_of
from tlf.dialects.graph.rewrites.simplification import is_outside_groups
from tlf.dialects.graph.scatter import ScatterOp
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.take_and_gather import IndexingOperation
from tlf.dialects.graph.tensor_types import shape_of, to_integers_attribute
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import SimplificationInterface, to_affine_map
from tlf.dialects.types import tensor_type, tensor_type_like


class ApplyExactSimplificationPattern(RewritePattern):
    """Replace an operation by a simpler one with bit-identical results."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SimplificationInterface):
            return
        if (simplification := op.find_best_simplification()) is not None:
            rewriter.replace(op, [], [simplification.build(rewriter)])


class MergeReshapesOrBroadcastsPattern(RewritePattern):
    """Merge two reshapes, or two broadcasts; drop them if the type is unchanged."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: movement.ReshapeOp | movement.BroadcastOp,
        rewriter: PatternRewriter,
        /,
    ) -> None:
        if not isinstance(first := op.operand.owner, type(op)):
            return
        if first.operand.type == op.result.type and not op.attributes:
            rewriter.replace(op, [], [first.operand])
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
    """Pattern that replaces a transpose of a transpose by one transpose."""

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
                properties={"permutation": to_integers_attribute(permutation)},
                result_types=op.result_types,
                attributes=op.attributes,
            ),
        )


class MergeSlicesPattern(RewritePattern):
    """
    Merge two slices of whole tensors into one. Slices of tiles are not merged, because
    they move tiles between memory levels.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if not isinstance(first := op.operand.owner, SliceOp):
            return
        if not is_outside_groups(first) or not is_outside_groups(op):
            return
        pairs = list(zip(first.starts, first.steps, strict=True))
        offsets = [
            begin + step * inner
            for (begin, step), inner in zip(pairs, op.starts, strict=True)
        ]
        steps = [step * inner for (_, step), inner in zip(pairs, op.steps, strict=True)]
        properties = {
            "offsets": to_integers_attribute(offsets),
            "strides": to_integers_attribute(steps),
        }
        rewriter.replace(
            op,
            SliceOp.create(
                operands=[first.operand],
                properties=properties,
                result_types=op.result_types,
                attributes=op.attributes,
            ),
        )


class FoldWholeSlicePattern(RewritePattern):
    """
    Pattern that replaces a slice by its operand if both have the same type, outside of
    groups.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if is_outside_groups(op) and op.operand.type == op.result.type:
            rewriter.replace(op, [], [op.operand])


class FoldSliceOfConcatPattern(RewritePattern):
    """Slice the concat operand that contains all elements of a slice of a concat."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        concat = op.operand.owner
        if not isinstance(concat, ConcatLikeInterface):
            return
        if not is_outside_groups(concat) or not is_outside_groups(op):
            return
        for operand, position in zip(
            concat.operands, concat.operand_offsets(), strict=True
        ):
            offsets = [
                begin - low for begin, low in zip(op.starts, position, strict=True)
            ]
            if _is_moved_slice_in_bounds(op, offsets, shape_of(operand)):
                rewriter.replace(
                    op,
                    SliceOp.create(
                        operands=[operand],
                        properties={
                            "offsets": to_integers_attribute(offsets),
                            "strides": op.strides,
                        },
                        result_types=op.result_types,
                        attributes=op.attributes,
                    ),
                )
                return


def _is_moved_slice_in_bounds(
    op: SliceOp, offsets: Sequence[int], shape: Sequence[int]
) -> bool:
    """
    Return `True` if a slice like `op`, but at `offsets`, is within a tensor of `shape`.
    """
    axes = zip(offsets, op.steps, shape_of(op.result), shape, strict=True)
    return all(
        begin >= 0 and begin + step * (count - 1) < extent
        for begin, step, count, extent in axes
    )


class SplitBroadcastFromUnfoldPattern(RewritePattern):
    """Broadcast after an unfold along axes that its map does not use."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnfoldOp, rewriter: PatternRewriter, /) -> None:
        used = {
            iterator for access in op.indexing_maps()[0] for iterator, _ in access.terms
        }
        shape = shape_of(op.result)
        unfold_shape = [
            extent if axis in used else 1 for axis, extent in enumerate(shape)
        ]
        if unfold_shape == list(shape):
            return
        result = tensor_type(op.result)
        unfold = UnfoldOp.create(
            operands=[op.operand],
            properties=dict(op.properties),
            result_types=[tensor_type_like(result, unfold_shape, result.element_type)],
            attributes=dict(op.attributes),
        )
        unfold.location = op.location
        rewriter.replace(op, [unfold, movement.BroadcastOp(unfold, shape)])


class GatherToUnfoldPattern(RewritePattern):
    """
    Pattern that replaces a gather by an unfold if its indices are known to be affine.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexingOperation):
            return
        if (affine := affine_tensor_of(op.indices)) is None:
            return
        read, index_accesses = op.indexing_maps()
        assert read is not None
        index = affine.compose_with_accesses(index_accesses or ())
        accesses = tuple(index if each.index is not None else each for each in read)
        shape = shape_of(op.result)
        map_ = to_affine_map(accesses, len(shape)).data
        rewriter.replace(op, UnfoldOp(op.operand, map_, shape))


class FoldBroadcastOfScatterIndicesPattern(RewritePattern):
    """
    Pattern that replaces indices of a scatter that are a broadcast along its other axes
    by the operand of the broadcast.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScatterOp, rewriter: PatternRewriter, /) -> None:
        broadcast = op.indices.owner
        if not isinstance(broadcast, movement.BroadcastOp) or not is_outside_groups(
            broadcast
        ):
            return
        axis = op.scatter_axis
        source, shape = shape_of(broadcast.operand), shape_of(op.indices)
        if len(source) != len(shape) or source[axis] != shape[axis]:
            return
        operands = (op.operand, broadcast.operand, op.updates)
        combined = op.combined is not None
        rewriter.replace(op, ScatterOp(*operands, axis, op.kind.data, combined))


class FoldTransposeOfUnfoldPattern(RewritePattern):
    """
    Pattern that replaces a transpose of an unfold with one use by an unfold with a
    permuted map.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: movement.TransposeOp, rewriter: PatternRewriter, /
    ) -> None:
        first = op.operand.owner
        if not isinstance(first, UnfoldOp) or first.result.uses.get_length() > 1:
            return
        if first.attributes or op.attributes:
            return
        axes = op.axis_list
        dims = [AffineExpr.dimension(axes.index(axis)) for axis in range(len(axes))]
        map_ = first.map.data.replace_dims_and_symbols(dims, [], len(axes), 0)
        unfold = UnfoldOp.create(
            operands=[first.operand],
            properties={"map": AffineMapAttr(map_), "fill": first.fill},
            result_types=op.result_types,
        )
        rewriter.replace(op, unfold)
