"""Patterns that bring graph operations to their simplest form."""

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.graph import movement
from tlf.dialects.graph.indexing import IndexingOperation
from tlf.dialects.graph.ramps import ramp_of
from tlf.dialects.graph.rewrites.simplification import is_free
from tlf.dialects.graph.scattering import ScatterOp
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.tensors import axes_attribute, shape_of
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import SimplificationInterface, indexing_map
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.types import like, tensor_type


class SimplifyPattern(RewritePattern):
    """
    Replace an operation by a simpler one that computes the same bits.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SimplificationInterface):
            return
        if (found := op.simplest()) is not None:
            rewriter.replace(op, [], [found.build(rewriter)])


class MergeShapesPattern(RewritePattern):
    """
    Reshape, or broadcast, what the first of two such operations started from; nothing
    where that has the wanted shape.
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


class MergeSlicesPattern(RewritePattern):
    """
    Cut out of what the first of two slices cut from. Slices of tiles stay: they move
    them from level to level.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if not isinstance(first := op.operand.owner, SliceOp):
            return
        if not is_free(first) or not is_free(op):
            return
        pairs = list(zip(first.starts, first.steps, strict=True))
        offsets = [
            begin + step * inner
            for (begin, step), inner in zip(pairs, op.starts, strict=True)
        ]
        steps = [step * inner for (_, step), inner in zip(pairs, op.steps, strict=True)]
        properties = {
            "offsets": axes_attribute(offsets),
            "strides": axes_attribute(steps),
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


class WholeSlicePattern(RewritePattern):
    """Replace a slice that takes all elements by what it takes them of."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if is_free(op) and op.operand.type == op.result.type:
            rewriter.replace(op, [], [op.operand])


class SlicePartPattern(RewritePattern):
    """Cut out of the one of joined tensors that has all elements of a slice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        joined = op.operand.owner
        if not isinstance(joined, JoiningInterface):
            return
        if not is_free(joined) or not is_free(op):
            return
        for part, place in zip(joined.operands, joined.places(), strict=True):
            offsets = [begin - low for begin, low in zip(op.starts, place, strict=True)]
            if _is_within(op, offsets, shape_of(part)):
                rewriter.replace(
                    op,
                    SliceOp.create(
                        operands=[part],
                        properties={
                            "offsets": axes_attribute(offsets),
                            "strides": op.strides,
                        },
                        result_types=op.result_types,
                        attributes=op.attributes,
                    ),
                )
                return


def _is_within(op: SliceOp, offsets: Sequence[int], shape: Sequence[int]) -> bool:
    """Return `True` if a slice from other offsets stays within a shape."""
    axes = zip(offsets, op.steps, shape_of(op.result), shape, strict=True)
    return all(
        begin >= 0 and begin + step * (count - 1) < extent
        for begin, step, count, extent in axes
    )


class RepeatUnfoldedPattern(RewritePattern):
    """
    Gather elements once, and broadcast them along axes that the map does not use.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnfoldOp, rewriter: PatternRewriter, /) -> None:
        used = {
            iterator
            for access in op.operand_accesses()[0]
            for iterator, _ in access.terms
        }
        shape = shape_of(op.result)
        once = [extent if axis in used else 1 for axis, extent in enumerate(shape)]
        if once == list(shape):
            return
        result = tensor_type(op.result)
        gathered = UnfoldOp.create(
            operands=[op.operand],
            properties=dict(op.properties),
            result_types=[like(result, once, result.element_type)],
            attributes=dict(op.attributes),
        )
        gathered.location = op.location
        rewriter.replace(op, [gathered, movement.BroadcastOp(gathered, shape)])


class UnfoldNamedPattern(RewritePattern):
    """
    Gather by a map where indices grow evenly along every axis, as distances do: none is
    computed, or read.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexingOperation):
            return
        if (ramp := ramp_of(op.indices)) is None:
            return
        read, named = op.operand_accesses()
        assert read is not None
        place = ramp.read_by(named or ())
        accesses = tuple(place if each.index is not None else each for each in read)
        shape = shape_of(op.result)
        map_ = indexing_map(accesses, len(shape)).data
        rewriter.replace(op, UnfoldOp(op.operand, map_, shape))


class NameOncePattern(RewritePattern):
    """Let indices that are broadcast name places once for all updates."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScatterOp, rewriter: PatternRewriter, /) -> None:
        spread = op.indices.owner
        if not isinstance(spread, movement.BroadcastOp) or not is_free(spread):
            return
        axis = op.written_axis
        found, wanted = shape_of(spread.operand), shape_of(op.indices)
        if len(found) != len(wanted) or found[axis] != wanted[axis]:
            return
        operands = (op.operand, spread.operand, op.updates)
        rewriter.replace(op, ScatterOp(*operands, axis, op.kind.data))


class PermuteUnfoldedPattern(RewritePattern):
    """Gather elements where a permutation of axes would bring them."""

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
        places = [AffineExpr.dimension(axes.index(axis)) for axis in range(len(axes))]
        map_ = first.map.data.replace_dims_and_symbols(places, [], len(axes), 0)
        gathered = UnfoldOp.create(
            operands=[first.operand],
            properties={"map": AffineMapAttr(map_), "fill": first.fill},
            result_types=op.result_types,
        )
        rewriter.replace(op, gathered)
