"""Pattern and helpers that split axes of a tensor together with its reductions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.split_axes import (
    AxisFactors,
    flatten_factors,
    remark_split,
    reshape_split_factors,
    single_use_split_factors,
    split_positions,
)


def split_factors_with_reductions(op: graph.ReshapeOp) -> AxisFactors | None:
    """
    Return the factors by which a reshape splits axes of a tensor whose other users can
    read it split; else None.
    """
    if (factors := reshape_split_factors(op)) is None:
        return None
    return factors if can_other_users_follow(op.operand, op, factors) else None


def can_other_users_follow(
    value: SSAValue, user: Operation, factors: AxisFactors
) -> bool:
    """
    Return `True` if all other users of a tensor can read it once its axes are split:
    reshapes that split it likewise, and reductions along axes that stay as they are.
    """
    users = [use.operation for use in value.uses]
    return all(each is user or _can_read_split(each, factors) for each in users)


def _can_read_split(op: Operation, factors: AxisFactors) -> bool:
    """Return `True` if an operation can read a tensor once its axes are split."""
    if isinstance(op, graph.ReshapeOp):
        return tensor_type(op.result).get_shape() == flatten_factors(factors)
    if (
        not isinstance(op, graph.ReduceOp)
        or op.init is not None
        or is_in_planned_group(op)
    ):
        return False
    return all(len(factors[axis]) == 1 for axis in op.axis_list)


def replace_with_split(
    op: graph.ReshapeOp,
    split: SSAValue,
    factors: AxisFactors,
    rewriter: PatternRewriter,
) -> None:
    """Replace a reshape by the split tensor, and rebuild the other users on it."""
    whole = op.operand
    rewriter.replace(op, [], [split])
    for user in [use.operation for use in whole.uses]:
        if isinstance(user, graph.ReshapeOp):
            rewriter.replace(user, [], [split])
            continue
        assert isinstance(user, graph.ReduceOp)
        rewriter.insertion_point = InsertPoint.before(user)
        made = _reduce_split(user, split, factors, rewriter)
        shape = tensor_type(user.result).get_shape()
        rewriter.replace(user, [], [reshape_to(made, shape, rewriter)])


def _reduce_split(
    op: graph.ReduceOp, split: SSAValue, factors: AxisFactors, rewriter: PatternRewriter
) -> SSAValue:
    """Rebuild a reduction on a tensor whose axes are split."""
    made = graph.ReduceOp(
        split,
        op.combination,
        split_positions(factors, op.axis_list),
        keepdims=op.keepdims is not None,
        acc=op.acc,
        element=tensor_type(op.result).element_type,
    )
    made.location = op.location
    return rewriter.insert(made).result


@dataclass
class SplitReductionPattern(RewritePattern):
    """
    Split the operand of a reduction instead of its result, where that undoes a reshape
    of the operand.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (
            not isinstance(op, graph.ReshapeOp)
            or (found := single_use_split_factors(op)) is None
        ):
            return
        before = op.operand.owner
        if not isinstance(before, graph.ReduceOp):
            return
        merged = before.operand.owner
        if not isinstance(merged, graph.ReshapeOp):
            return
        factors = _operand_factors(before, found)
        if tensor_type(merged.operand).get_shape() != flatten_factors(factors):
            return
        if not _can_read_split(before, factors):
            return
        remark_split(before)
        rewriter.insertion_point = InsertPoint.before(before)
        made = _reduce_split(before, merged.operand, factors, rewriter)
        result = tensor_type(op.result).get_shape()
        rewriter.replace(op, [], [reshape_to(made, result, rewriter)])
        rewriter.erase(before)


def _operand_factors(op: graph.ReduceOp, factors: AxisFactors) -> AxisFactors:
    """Return the factors of a reduction's operand, given those of its result."""
    shape, rest = tensor_type(op.operand).get_shape(), list(factors)
    found: list[tuple[int, ...]] = []
    for axis, extent in enumerate(shape):
        is_reduced = axis in op.axis_list
        if is_reduced and op.keepdims is not None:
            rest.pop(0)
        found.append((extent,) if is_reduced else rest.pop(0))
    return tuple(found)
