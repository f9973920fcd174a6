"""Axes that reshapes merge of what is computed, merged behind what follows instead."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.permutations import reshaped
from tlf.passes.pointwise import is_pointwise
from tlf.passes.product import Product
from tlf.passes.replacement import is_planned
from tlf.passes.split_axes import (
    Factors,
    is_split,
    note_split,
    places,
    split_product,
    splits_of,
)
from tlf.passes.split_repeated import merge_late


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
            shape = tensor_type(op.results[0]).get_shape()
            extents = zip(product.result, shape, strict=True)
            result = tuple(parts.get(axis, (extent,)) for axis, extent in extents)
            made = rewriter.insert(split_product(product, parts, rewriter).build())
            merge_late(op, made.result, result, rewriter)
            return


def _merged_before(value: SSAValue) -> Factors | None:
    """
    What axes were merged of before elementwise operations made a tensor, all of whose
    uses are that of a product.
    """
    if not value.has_one_use():
        return None
    pending, seen = [value], set[SSAValue]()
    shape = tensor_type(value).get_shape()
    while pending:
        found = pending.pop()
        owner = found.owner
        if found in seen or tensor_type(found).get_shape() != shape:
            continue
        seen.add(found)
        if isinstance(owner, graph.ReshapeOp):
            if is_computed(owner.operand) and (factors := merges(owner)) is not None:
                return factors
        elif is_pointwise(owner) and not is_planned(owner):
            pending += owner.operands
    return None


def merges(op: graph.ReshapeOp) -> Factors | None:
    """What a reshape merges axes of its result of, if it merges long ones alone."""
    factors = splits_of(op.result, op.operand)
    if factors is None or not any(map(is_split, factors)):
        return None
    return factors


def is_computed(value: SSAValue) -> bool:
    """Whether an operation of the program computes a tensor, rather than show it."""
    owner = value.owner
    return isinstance(owner, TilingInterface) and not isinstance(owner, graph.ReshapeOp)


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
        if not is_computed(merged.operand) or not merged.operand.has_one_use():
            return
        if (factors := merges(merged)) is None:
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
