"""
Rewrite patterns of the pass `graph-fold-transposes` that choose the axis order of
gathered tensors.
"""

from __future__ import annotations

from math import prod

from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects import graph
from tlf.dialects.interfaces import to_affine_map
from tlf.dialects.types import tensor_type
from tlf.passes.op_replacement import is_in_planned_group

MIN_REUSE = 2
"""Minimum ratio of gathered elements to elements of the source tensor."""


class ContiguousUnfoldPattern(RewritePattern):
    """
    Make the gathered axis of an `unfold` innermost in its operand, if the gather reuses
    elements, so that the transpose moves fewer bytes than the gather. Example: a table
    of biases by distance and head, gathered by the scores of each head.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.UnfoldOp, rewriter: PatternRewriter, /
    ) -> None:
        if (
            is_in_planned_group(op)
            or (axis := _operand_axis_to_make_innermost(op)) is None
        ):
            return
        (accesses,) = op.indexing_maps()
        order = [each for each in range(len(accesses)) if each != axis]
        order.append(axis)
        transposed = graph.TransposeOp(op.operand, order)
        shape = tensor_type(op.result).get_shape()
        map_ = to_affine_map(tuple(accesses[each] for each in order), len(shape))
        gathered = graph.UnfoldOp(transposed, map_.data, shape, op.fill_value)
        transposed.location = op.location
        rewriter.replace(op, [transposed, gathered])


def _operand_axis_to_make_innermost(op: graph.UnfoldOp) -> int | None:
    """
    Return the axis of the operand that the innermost axis of the result runs along, if
    it should become the operand's innermost one; else None.
    """
    shape = tensor_type(op.operand).get_shape()
    result = tensor_type(op.result).get_shape()
    if not _has_element_reuse(op):
        return None
    (accesses,) = op.indexing_maps()
    last = max((axis for axis, extent in enumerate(result) if extent > 1), default=None)
    if last is None:
        return None
    operand_axes = [n for n, access in enumerate(accesses) if access.depends_on({last})]
    if len(operand_axes) != 1:
        return None
    inner_extents = [extent for extent in shape[operand_axes[0] + 1 :] if extent > 1]
    return operand_axes[0] if inner_extents else None


class HoistTransposeAboveTakePattern(RewritePattern):
    """
    Transpose the operand of a `take` instead of its result, if the axes of the indices
    remain adjacent and in order.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.TransposeOp, rewriter: PatternRewriter, /
    ) -> None:
        take = op.operand.owner
        if (
            not isinstance(take, graph.TakeOp)
            or is_in_planned_group(op)
            or is_in_planned_group(take)
        ):
            return
        if take.result.uses.get_length() > 1 or not _has_element_reuse(take):
            return
        axis, count = take.axis.value.data, tensor_type(take.indices).get_num_dims()
        positions = [op.axis_list.index(axis + each) for each in range(count)]
        if not positions or positions != [*range(positions[0], positions[0] + count)]:
            return
        remaining = [each for each in op.axis_list if not axis <= each < axis + count]
        order = [each if each < axis else each - count + 1 for each in remaining]
        order.insert(positions[0], axis)
        transposed = graph.TransposeOp(take.operand, order)
        transposed.location = op.location
        rewriter.replace(
            op, [transposed, graph.TakeOp(transposed, take.indices, positions[0])]
        )


def _has_element_reuse(op: graph.UnfoldOp | graph.TakeOp) -> bool:
    """
    Return `True` if at least `MIN_REUSE` elements are gathered per source element.
    """
    gathered, available = (
        prod(tensor_type(each).get_shape()) for each in (op.result, op.operand)
    )
    return gathered >= MIN_REUSE * available
