"""Patterns that sink a reshape that collapses axes below what follows it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    ReductionInterface,
)
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.types import tensor_type, type_like
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.permutations import can_permute_past, reshape_to, single_user_of
from tlf.passes.graph.pointwise import is_pointwise, leaf_values_of
from tlf.passes.graph.split_axes import (
    AxisFactors,
    factors_along,
    flatten_factors,
    is_split,
    remark_split,
    split_factors_between,
    split_positions,
    split_product,
)


@dataclass
class SplitBatchDimsPattern(RewritePattern):
    """
    Split the batch axes of a product whose operand was collapsed before elementwise
    operations: a softmax of scores under other axes than those that a mask is added to.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.of(op)) is None:
            return
        for value, axes in zip(product.values, product.axes, strict=True):
            if (factors := _collapse_factors_before(value)) is None:
                continue
            parts = dict(zip(axes, factors, strict=True))
            split = {axis for axis, extents in parts.items() if len(extents) != 1}
            if not split <= {*product.axes[0]} & {*product.axes[1]} & {*product.result}:
                continue
            remark_split(op)
            rewriter.insertion_point = InsertPoint.before(op)
            result = factors_along(op.results[0], product.result, parts)
            made = rewriter.insert(
                split_product(product, parts, rewriter).build_contract()
            )
            sink_collapse_past_users(op, made.result, result, rewriter)
            return


def _collapse_factors_before(value: SSAValue) -> AxisFactors | None:
    """
    Return the factors of the axes that a reshape collapsed before the elementwise
    operations that compute a value, whose only use is that of a product; None if there
    are none.
    """
    if not value.has_one_use():
        return None
    shape = tensor_type(value).get_shape()

    def follows(each: SSAValue) -> bool:
        is_left = is_pointwise(each.owner) and is_in_planned_group(each.owner)
        return tensor_type(each).get_shape() == shape and not is_left

    for leaf in leaf_values_of(value, follows):
        owner = leaf.owner
        if isinstance(owner, graph.ReshapeOp) and _is_computed(owner.operand):
            if (factors := _collapse_factors_of(owner)) is not None:
                return factors
    return None


def _collapse_factors_of(op: graph.ReshapeOp) -> AxisFactors | None:
    """
    Return the factors of the axes that a reshape collapses, if it does nothing else;
    else None.
    """
    factors = split_factors_between(op.result, op.operand)
    if factors is None or not any(map(is_split, factors)):
        return None
    return factors


def _is_computed(value: SSAValue) -> bool:
    """Return `True` if a tensor is computed, rather than moved, repeated or a view."""
    return isinstance(
        value.owner, ElementwiseInterface | ContractionInterface | ReductionInterface
    )


@dataclass
class SinkCollapsePattern(RewritePattern):
    """
    Sink a collapsing reshape below a transpose, so that what computes its operand can
    write in the transposed order. A contraction reads through a permutation, which
    stays.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.TransposeOp) or is_in_planned_group(op):
            return
        merged = op.operand.owner
        if not isinstance(merged, graph.ReshapeOp) or not op.operand.has_one_use():
            return
        if not _is_computed(merged.operand) or not merged.operand.has_one_use():
            return
        if (factors := _collapse_factors_of(merged)) is None:
            return
        users = [use.operation for use in op.result.uses]
        if any(isinstance(user, ContractionInterface) for user in users):
            return
        order = split_positions(factors, op.axis_list)
        moved = rewriter.insert(graph.TransposeOp(merged.operand, order))
        moved.location = op.location
        shape = [prod(factors[axis]) for axis in op.axis_list]
        rewriter.replace(op, [], [reshape_to(moved.result, shape, rewriter)])
        rewriter.erase(merged)


def sink_collapse_past_users(
    op: Operation, split: SSAValue, factors: AxisFactors, rewriter: PatternRewriter
) -> None:
    """
    Replace a result by one with split axes: single users are rebuilt on it, as long as
    they read nothing else, and axes are collapsed behind them.
    """
    replaced = [op]
    while (user := single_user_of(replaced[-1].results[0])) is not None:
        if isinstance(user, graph.TransposeOp) and not is_in_planned_group(user):
            made: Operation = graph.TransposeOp(
                split, split_positions(factors, user.axis_list)
            )
            factors = tuple(factors[axis] for axis in user.axis_list)
        elif _is_unary(user):
            element = tensor_type(user.results[0]).element_type
            made = user.tiled_implementation(
                [split],
                [type_like(tensor_type(split), flatten_factors(factors), element)],
            )
        else:
            break
        made.location = user.location
        rewriter.insertion_point = InsertPoint.before(user)
        split = rewriter.insert(made).results[0]
        replaced.append(user)
    rewriter.insertion_point = InsertPoint.before(replaced[-1])
    merged = reshape_to(split, [prod(parts) for parts in factors], rewriter)
    for each in reversed(replaced):
        rewriter.replace(each, [], [merged if each is replaced[-1] else None])


def _is_unary(op: Operation) -> TypeGuard[ElementwiseInterface]:
    """Return `True` if an operation computes with the elements of one tensor alone."""
    return can_permute_past(op) and len(op.operands) == 1
