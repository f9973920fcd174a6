"""Axes that reshapes merge of what is computed, merged behind what follows instead."""

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
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import like, tensor_type
from tlf.passes.graph.permutations import moves_alone, only_user, reshaped
from tlf.passes.graph.pointwise import is_pointwise, leaves
from tlf.passes.graph.product import Product
from tlf.passes.graph.split_axes import (
    Factors,
    factors_along,
    flat,
    is_split,
    note_split,
    places,
    split_product,
    splits_of,
)


@dataclass
class SplitBatchPattern(RewritePattern):
    """
    Split the batch axes of a product that a reshape has merged of what is computed,
    before what follows makes a factor of the product of it: a softmax of scores under
    other axes than those that a mask is added to.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.of(op)) is None:
            return
        for value, axes in zip(product.values, product.axes, strict=True):
            if (factors := _merged_before(value)) is None:
                continue
            parts = dict(zip(axes, factors, strict=True))
            split = {axis for axis, extents in parts.items() if len(extents) != 1}
            if not split <= {*product.axes[0]} & {*product.axes[1]} & {*product.result}:
                continue
            note_split(op)
            rewriter.insertion_point = InsertPoint.before(op)
            result = factors_along(op.results[0], product.result, parts)
            made = rewriter.insert(split_product(product, parts, rewriter).build())
            merge_late(op, made.result, result, rewriter)
            return


def _merged_before(value: SSAValue) -> Factors | None:
    """
    Return the factors of the axes that a reshape merged before elementwise operations
    made a tensor, whose only use is that of a product; None if there are none.
    """
    if not value.has_one_use():
        return None
    shape = tensor_type(value).get_shape()

    def follows(each: SSAValue) -> bool:
        is_left = is_pointwise(each.owner) and is_planned(each.owner)
        return tensor_type(each).get_shape() == shape and not is_left

    for leaf in leaves(value, follows):
        owner = leaf.owner
        if isinstance(owner, graph.ReshapeOp) and _is_computed(owner.operand):
            if (factors := _merges(owner)) is not None:
                return factors
    return None


def _merges(op: graph.ReshapeOp) -> Factors | None:
    """
    Return the factors of the axes of its result that a reshape merges, if it only
    merges axes, and some of extents other than 1; else None.
    """
    factors = splits_of(op.result, op.operand)
    if factors is None or not any(map(is_split, factors)):
        return None
    return factors


def _is_computed(value: SSAValue) -> bool:
    """Return `True` if a tensor is computed, rather than moved, repeated or a view."""
    return isinstance(
        value.owner, ElementwiseInterface | ContractionInterface | ReductionInterface
    )


@dataclass
class MergePermutedPattern(RewritePattern):
    """
    Merge axes of what is computed behind a permutation, so that what computes it may
    write it in this order. A contraction reads through a permutation, which stays.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.TransposeOp) or is_planned(op):
            return
        merged = op.operand.owner
        if not isinstance(merged, graph.ReshapeOp) or not op.operand.has_one_use():
            return
        if not _is_computed(merged.operand) or not merged.operand.has_one_use():
            return
        if (factors := _merges(merged)) is None:
            return
        users = [use.operation for use in op.result.uses]
        if any(isinstance(user, ContractionInterface) for user in users):
            return
        order = places(factors, op.axis_list)
        moved = rewriter.insert(graph.TransposeOp(merged.operand, order))
        moved.location = op.location
        shape = [prod(factors[axis]) for axis in op.axis_list]
        rewriter.replace(op, [], [reshaped(moved.result, shape, rewriter)])
        rewriter.erase(merged)


def merge_late(
    op: Operation, split: SSAValue, factors: Factors, rewriter: PatternRewriter
) -> None:
    """
    Replace a result by one whose axes are split: what alone follows computes with that,
    as long as it takes nothing else, and axes are merged behind it.
    """
    replaced = [op]
    while (user := only_user(replaced[-1].results[0])) is not None:
        if isinstance(user, graph.TransposeOp) and not is_planned(user):
            made: Operation = graph.TransposeOp(split, places(factors, user.axis_list))
            factors = tuple(factors[axis] for axis in user.axis_list)
        elif _is_unary(user):
            element = tensor_type(user.results[0]).element_type
            made = user.tiled(
                [split], [like(tensor_type(split), flat(factors), element)]
            )
        else:
            break
        made.location = user.location
        rewriter.insertion_point = InsertPoint.before(user)
        split = rewriter.insert(made).results[0]
        replaced.append(user)
    rewriter.insertion_point = InsertPoint.before(replaced[-1])
    merged = reshaped(split, [prod(parts) for parts in factors], rewriter)
    for each in reversed(replaced):
        rewriter.replace(each, [], [merged if each is replaced[-1] else None])


def _is_unary(op: Operation) -> TypeGuard[ElementwiseInterface]:
    """Return `True` if an operation computes with the elements of one tensor alone."""
    return moves_alone(op) and len(op.operands) == 1
