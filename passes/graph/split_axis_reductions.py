"""
Rewrite pattern and helpers of the pass `graph-hoist-reshapes` that split axes of a
tensor together with its reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.split_axes import (
    AxisFactors,
    factor_indices_of_axes,
    remark_split_before_op,
    shape_of_factors,
    split_factors_of_reshape,
    split_factors_of_single_use,
)
from tlf.passes.op_replacement import is_in_planned_group


def split_factors_readable_by_users(op: graph.ReshapeOp) -> AxisFactors | None:
    """
    Return the factors by which a reshape splits axes of a tensor, if all other users
    can read the split tensor; else None.
    """
    if (factors := split_factors_of_reshape(op)) is None:
        return None
    return factors if can_other_users_read_split(op.operand, op, factors) else None


def can_other_users_read_split(
    value: SSAValue, user: Operation, factors: AxisFactors
) -> bool:
    """
    Return `True` if all other users of a tensor can read it with split axes: reshapes
    that split the same axes, and reductions along axes that are not split.
    """
    users = [use.operation for use in value.uses]
    return all(
        each is user or _can_read_with_split_axes(each, factors) for each in users
    )


def _can_read_with_split_axes(op: Operation, factors: AxisFactors) -> bool:
    """Return `True` if an operation can read a tensor with split axes."""
    if isinstance(op, graph.ReshapeOp):
        return tensor_type(op.result).get_shape() == shape_of_factors(factors)
    if (
        not isinstance(op, graph.ReduceOp)
        or op.init is not None
        or is_in_planned_group(op)
    ):
        return False
    return all(len(factors[axis]) == 1 for axis in op.axis_list)


def replace_reshape_by_split_tensor(
    op: graph.ReshapeOp,
    split: SSAValue,
    factors: AxisFactors,
    rewriter: PatternRewriter,
) -> None:
    """Replace a reshape by the split tensor, and rebuild the other users on it."""
    unsplit = op.operand
    rewriter.replace(op, [], [split])
    for user in [use.operation for use in unsplit.uses]:
        if isinstance(user, graph.ReshapeOp):
            rewriter.replace(user, [], [split])
            continue
        assert isinstance(user, graph.ReduceOp)
        rewriter.insertion_point = InsertPoint.before(user)
        axes = factor_indices_of_axes(factors, user.axis_list)
        reduced = rebuild_reduction(user, split, axes, rewriter)
        shape = tensor_type(user.result).get_shape()
        rewriter.replace(user, [], [reshape_to(reduced, shape, rewriter)])


def rebuild_reduction(
    op: graph.ReduceOp, operand: SSAValue, axes: Sequence[int], builder: Builder
) -> SSAValue:
    """
    Build a reduction like `op` of another operand along other axes, and return the
    result.
    """
    reduction = graph.ReduceOp(
        operand,
        op.reduce_kind,
        axes,
        keepdims=op.keepdims is not None,
        acc=op.acc,
        element=tensor_type(op.result).element_type,
    )
    reduction.location = op.location
    return builder.insert(reduction).result


@dataclass
class SplitReductionPattern(RewritePattern):
    """
    Split the operand of a reduction instead of its result, if that cancels out with a
    reshape of the operand.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (
            not isinstance(op, graph.ReshapeOp)
            or (result_factors := split_factors_of_single_use(op)) is None
        ):
            return
        before = op.operand.owner
        if not isinstance(before, graph.ReduceOp):
            return
        collapse = before.operand.owner
        if not isinstance(collapse, graph.ReshapeOp):
            return
        factors = _operand_factors_of_reduction(before, result_factors)
        if tensor_type(collapse.operand).get_shape() != shape_of_factors(factors):
            return
        if not _can_read_with_split_axes(before, factors):
            return
        remark_split_before_op(before)
        rewriter.insertion_point = InsertPoint.before(before)
        axes = factor_indices_of_axes(factors, before.axis_list)
        reduced = rebuild_reduction(before, collapse.operand, axes, rewriter)
        result = tensor_type(op.result).get_shape()
        rewriter.replace(op, [], [reshape_to(reduced, result, rewriter)])
        rewriter.erase(before)


def _operand_factors_of_reduction(
    op: graph.ReduceOp, result_factors: AxisFactors
) -> AxisFactors:
    """Return the factors of a reduction's operand, given those of its result."""
    shape, remaining = tensor_type(op.operand).get_shape(), list(result_factors)
    operand_factors: list[tuple[int, ...]] = []
    for axis, extent in enumerate(shape):
        is_reduced = axis in op.axis_list
        if is_reduced and op.keepdims is not None:
            remaining.pop(0)
        operand_factors.append((extent,) if is_reduced else remaining.pop(0))
    return tuple(operand_factors)
