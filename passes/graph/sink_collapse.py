"""
Rewrite patterns of the pass `graph-hoist-reshapes` that sink a reshape that collapses
axes below its users.
"""

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
from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.dialects.value_users import single_user_of
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.permutations import (
    can_move_transpose_past,
    reshape_to,
)
from tlf.passes.graph.pointwise import is_pointwise, leaf_values_of
from tlf.passes.graph.split_axes import (
    AxisFactors,
    axis_factors_from_splits,
    factor_indices_of_axes,
    has_several_factors,
    remark_split_before_op,
    shape_of_factors,
    split_factors_between,
    split_iterators_of_product,
)
from tlf.passes.op_replacement import is_in_planned_group


@dataclass
class SplitBatchDimsPattern(RewritePattern):
    """
    Split the batch axes of a product whose operand was collapsed before elementwise
    operations, such as scores that are collapsed between the addition of a mask and the
    softmax.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.from_operation(op)) is None:
            return
        for value, axes in zip(product.values, product.axes, strict=True):
            if (factors := _collapse_factors_before_elementwise(value)) is None:
                continue
            splits = dict(zip(axes, factors, strict=True))
            split = {axis for axis, extents in splits.items() if len(extents) != 1}
            if not split <= {*product.axes[0]} & {*product.axes[1]} & {*product.result}:
                continue
            remark_split_before_op(op)
            rewriter.insertion_point = InsertPoint.before(op)
            result = axis_factors_from_splits(op.results[0], product.result, splits)
            contract = rewriter.insert(
                split_iterators_of_product(product, splits, rewriter).build_contract()
            )
            sink_collapse_past_users(op, contract.result, result, rewriter)
            return


def _collapse_factors_before_elementwise(value: SSAValue) -> AxisFactors | None:
    """
    Return the factors of the axes that a reshape collapsed before the elementwise
    operations that compute a value with one use; None if there is no such reshape.
    """
    if not value.has_one_use():
        return None
    shape = tensor_type(value).get_shape()

    def follows(each: SSAValue) -> bool:
        has_plan = is_pointwise(each.owner) and is_in_planned_group(each.owner)
        return tensor_type(each).get_shape() == shape and not has_plan

    for leaf in leaf_values_of(value, follows):
        owner = leaf.owner
        if isinstance(owner, graph.ReshapeOp) and _is_result_of_computation(
            owner.operand
        ):
            if (factors := _collapse_factors_of(owner)) is not None:
                return factors
    return None


def _collapse_factors_of(op: graph.ReshapeOp) -> AxisFactors | None:
    """
    Return the factors of the axes that a reshape collapses; None if it also splits
    axes.
    """
    factors = split_factors_between(op.result, op.operand)
    if factors is None or not any(map(has_several_factors, factors)):
        return None
    return factors


def _is_result_of_computation(value: SSAValue) -> bool:
    """Return `True` if a tensor is computed, not the result of a movement or view."""
    return isinstance(
        value.owner, ElementwiseInterface | ContractionInterface | ReductionInterface
    )


@dataclass
class SinkCollapsePattern(RewritePattern):
    """
    Sink a collapsing reshape below a transpose, so that the producer of its operand can
    write in the transposed order. A transpose read by a contraction is kept, because
    the contraction absorbs it.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.TransposeOp) or is_in_planned_group(op):
            return
        collapse = op.operand.owner
        if not isinstance(collapse, graph.ReshapeOp) or not op.operand.has_one_use():
            return
        if (
            not _is_result_of_computation(collapse.operand)
            or not collapse.operand.has_one_use()
        ):
            return
        if (factors := _collapse_factors_of(collapse)) is None:
            return
        users = [use.operation for use in op.result.uses]
        if any(isinstance(user, ContractionInterface) for user in users):
            return
        order = factor_indices_of_axes(factors, op.axis_list)
        transpose = rewriter.insert(graph.TransposeOp(collapse.operand, order))
        transpose.location = op.location
        shape = [prod(factors[axis]) for axis in op.axis_list]
        rewriter.replace(op, [], [reshape_to(transpose.result, shape, rewriter)])
        rewriter.erase(collapse)


def sink_collapse_past_users(
    op: Operation,
    split_result: SSAValue,
    factors: AxisFactors,
    rewriter: PatternRewriter,
) -> None:
    """
    Replace a result by one with split axes: a chain of only users with one operand is
    rebuilt on the split tensor, and the axes are collapsed after the chain.
    """
    replaced = [op]
    while (user := single_user_of(replaced[-1].results[0])) is not None:
        if isinstance(user, graph.TransposeOp) and not is_in_planned_group(user):
            rebuilt: Operation = graph.TransposeOp(
                split_result, factor_indices_of_axes(factors, user.axis_list)
            )
            factors = tuple(factors[axis] for axis in user.axis_list)
        elif _is_unary_pointwise(user):
            element = tensor_type(user.results[0]).element_type
            rebuilt = user.tiled_implementation(
                [split_result],
                [
                    tensor_type_like(
                        tensor_type(split_result), shape_of_factors(factors), element
                    )
                ],
            )
        else:
            break
        rebuilt.location = user.location
        rewriter.insertion_point = InsertPoint.before(user)
        split_result = rewriter.insert(rebuilt).results[0]
        replaced.append(user)
    rewriter.insertion_point = InsertPoint.before(replaced[-1])
    collapsed = reshape_to(
        split_result, [prod(extents) for extents in factors], rewriter
    )
    for each in reversed(replaced):
        rewriter.replace(each, [], [collapsed if each is replaced[-1] else None])


def _is_unary_pointwise(op: Operation) -> TypeGuard[ElementwiseInterface]:
    """Return `True` if an operation is pointwise with one operand, and has no plan."""
    return can_move_transpose_past(op) and len(op.operands) == 1
