"""Reductions of tensors whose axes are split: those that are not reduced."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.split_axes import (
    Factors,
    flat,
    note_split,
    places,
    splits,
    splitting,
)


def splitting_with_reductions(op: graph.ReshapeOp) -> Factors | None:
    """
    The factors by which a user of a tensor splits axes of it, if it does and its other
    users can follow.
    """
    if (factors := splits(op)) is None:
        return None
    return factors if others_follow(op.operand, op, factors) else None


def others_follow(value: SSAValue, user: Operation, factors: Factors) -> bool:
    """
    Return `True` if all users of a tensor but one can read it once its axes are split:
    those that split it likewise, and reductions along axes that stay as they are.
    """
    users = [use.operation for use in value.uses]
    return all(each is user or _follows(each, factors) for each in users)


def _follows(op: Operation, factors: Factors) -> bool:
    """Return `True` if an operation can read a tensor once its axes are split."""
    if isinstance(op, graph.ReshapeOp):
        return tensor_type(op.result).get_shape() == flat(factors)
    if not isinstance(op, graph.ReduceOp) or op.init is not None or is_planned(op):
        return False
    return all(len(factors[axis]) == 1 for axis in op.axis_list)


def replace_split(
    op: graph.ReshapeOp, split: SSAValue, factors: Factors, rewriter: PatternRewriter
) -> None:
    """Let a reshape and the other users of its operand take the split tensor."""
    whole = op.operand
    rewriter.replace(op, [], [split])
    for user in [use.operation for use in whole.uses]:
        if isinstance(user, graph.ReshapeOp):
            rewriter.replace(user, [], [split])
            continue
        assert isinstance(user, graph.ReduceOp)
        rewriter.insertion_point = InsertPoint.before(user)
        made = _reduced(user, split, factors, rewriter)
        shape = tensor_type(user.result).get_shape()
        rewriter.replace(user, [], [reshaped(made, shape, rewriter)])


def _reduced(
    op: graph.ReduceOp, split: SSAValue, factors: Factors, rewriter: PatternRewriter
) -> SSAValue:
    """The result of a reduction of a tensor whose axes are split."""
    made = graph.ReduceOp(
        split,
        op.combination,
        places(factors, op.axis_list),
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
        if not isinstance(op, graph.ReshapeOp) or (found := splitting(op)) is None:
            return
        before = op.operand.owner
        if not isinstance(before, graph.ReduceOp):
            return
        merged = before.operand.owner
        if not isinstance(merged, graph.ReshapeOp):
            return
        factors = _of_operand(before, found)
        if tensor_type(merged.operand).get_shape() != flat(factors):
            return
        if not _follows(before, factors):
            return
        note_split(before)
        rewriter.insertion_point = InsertPoint.before(before)
        made = _reduced(before, merged.operand, factors, rewriter)
        result = tensor_type(op.result).get_shape()
        rewriter.replace(op, [], [reshaped(made, result, rewriter)])
        rewriter.erase(before)


def _of_operand(op: graph.ReduceOp, factors: Factors) -> Factors:
    """The factors of a reduction's operand from those of its result."""
    shape, rest = tensor_type(op.operand).get_shape(), list(factors)
    found: list[tuple[int, ...]] = []
    for axis, extent in enumerate(shape):
        is_reduced = axis in op.axis_list
        if is_reduced and op.keepdims is not None:
            rest.pop(0)
        found.append((extent,) if is_reduced else rest.pop(0))
    return tuple(found)
