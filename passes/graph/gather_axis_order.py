"""Patterns that choose the axis order of gathered tensors."""

from __future__ import annotations

from math import prod

from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects import graph
from tlf.dialects.interfaces import to_affine_map
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.types import tensor_type

MIN_REUSE = 2
"""Minimum ratio of the elements gathered of a tensor to those that it has."""


class ContiguousUnfoldPattern(RewritePattern):
    """
    Make the gathered axis of an `unfold` innermost in its operand, where the gather
    reuses elements: few are moved for that, as of a table of biases by distance and
    head, of which scores of one head take many.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.UnfoldOp, rewriter: PatternRewriter, /
    ) -> None:
        if is_in_planned_group(op) or (axis := _axis_to_make_innermost(op)) is None:
            return
        (accesses,) = op.indexing_maps()
        order = [each for each in range(len(accesses)) if each != axis]
        order.append(axis)
        moved = graph.TransposeOp(op.operand, order)
        shape = tensor_type(op.result).get_shape()
        map_ = to_affine_map(tuple(accesses[each] for each in order), len(shape))
        gathered = graph.UnfoldOp(moved, map_.data, shape, op.fill_value)
        moved.location = op.location
        rewriter.replace(op, [moved, gathered])


def _axis_to_make_innermost(op: graph.UnfoldOp) -> int | None:
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
    along = [n for n, access in enumerate(accesses) if access.depends_on({last})]
    if len(along) != 1:
        return None
    behind = [extent for extent in shape[along[0] + 1 :] if extent > 1]
    return along[0] if behind else None


class HoistTransposeAboveTakePattern(RewritePattern):
    """
    Transpose the operand of a `take` instead of its result, where the axes of the
    indices stay together.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.TransposeOp, rewriter: PatternRewriter, /
    ) -> None:
        taken = op.operand.owner
        if (
            not isinstance(taken, graph.TakeOp)
            or is_in_planned_group(op)
            or is_in_planned_group(taken)
        ):
            return
        if taken.result.uses.get_length() > 1 or not _has_element_reuse(taken):
            return
        axis, count = taken.axis.value.data, tensor_type(taken.indices).get_num_dims()
        places = [op.axis_list.index(axis + each) for each in range(count)]
        if not places or places != [*range(places[0], places[0] + count)]:
            return
        others = [each for each in op.axis_list if not axis <= each < axis + count]
        order = [each if each < axis else each - count + 1 for each in others]
        order.insert(places[0], axis)
        moved = graph.TransposeOp(taken.operand, order)
        moved.location = op.location
        rewriter.replace(op, [moved, graph.TakeOp(moved, taken.indices, places[0])])


def _has_element_reuse(op: graph.UnfoldOp | graph.TakeOp) -> bool:
    """
    Return `True` if at least `MIN_REUSE` times as many elements are gathered of a
    tensor as it has.
    """
    gathered, there = (
        prod(tensor_type(each).get_shape()) for each in (op.result, op.operand)
    )
    return gathered >= MIN_REUSE * there
