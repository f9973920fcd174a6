"""Axis order of gathered tensors."""

from __future__ import annotations

from math import prod

from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects import graph
from tlf.dialects.interfaces import indexing_map
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import tensor_type

REPEATED = 2
"""Minimum ratio of the elements gathered of a tensor to those that it has."""


class OrderUnfoldedPattern(RewritePattern):
    """
    Make gathered elements contiguous, where a gather repeats elements: few are moved
    for that, as of a table of biases by distance and head, of which scores of one head
    take many.
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
    if not _is_repeated(op):
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


class OrderTakenPattern(RewritePattern):
    """
    Permute the axes of a tensor instead of those of the many slices that indices take
    of it, where those of the indices stay together.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.TransposeOp, rewriter: PatternRewriter, /
    ) -> None:
        taken = op.operand.owner
        if not isinstance(taken, graph.TakeOp) or is_planned(op) or is_planned(taken):
            return
        if taken.result.uses.get_length() > 1 or not _is_repeated(taken):
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


def _is_repeated(op: graph.UnfoldOp | graph.TakeOp) -> bool:
    """
    Return `True` if at least `REPEATED` times as many elements are gathered of a tensor
    as it has.
    """
    gathered, there = (
        prod(tensor_type(each).get_shape()) for each in (op.result, op.operand)
    )
    return gathered >= REPEATED * there
