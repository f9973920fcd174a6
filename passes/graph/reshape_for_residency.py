"""
Rewrite patterns of the pass `graph-hoist-reshapes` that split axes so that no reshape
prevents residency of a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.split_axes import (
    AxisFactors,
    IteratorSplits,
    has_several_factors,
    remark_split_before_op,
    split_factors_of_shapes,
    split_factors_of_single_use,
    split_iterators_of_product,
)
from tlf.passes.op_replacement import is_in_planned_group


def has_residency_levels(module: ModuleOp) -> bool:
    """
    Return `True` if the target has levels in which tensors may be resident between
    groups.
    """
    return (
        TargetSpec.is_attached_to(module)
        and len(TargetSpec.read_from_module(module).tile_levels) > 1
    )


@dataclass
class SplitReducedDimsPattern(RewritePattern):
    """Split a reduction axis of a contraction that a reshape collapsed."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.from_operation(op)) is None:
            return
        for value, axes in zip(product.values, product.axes, strict=True):
            if splits := _reduced_axis_splits(value, axes, product.result):
                remark_split_before_op(op)
                rewriter.insertion_point = InsertPoint.before(op)
                rewriter.replace(
                    op,
                    split_iterators_of_product(
                        product, splits, rewriter
                    ).build_contract(),
                )
                return


def _reduced_axis_splits(value: SSAValue, axes: Axes, result: Axes) -> IteratorSplits:
    """
    Return the splits of reduced axes that a reshape merged; none if it also merged
    axes of the result.
    """
    if not isinstance(op := value.owner, graph.ReshapeOp):
        return {}
    shapes = [tensor_type(each).get_shape() for each in (op.result, op.operand)]
    if (factors := split_factors_of_shapes(*shapes)) is None:
        return {}
    splits = dict(zip(axes, factors, strict=True))
    split = {axis for axis, extents in splits.items() if has_several_factors(extents)}
    if split & {*result} or not all(factors):
        return {}
    return {axis: splits[axis] for axis in split}


@dataclass
class SplitBeforeSlicePattern(RewritePattern):
    """
    Split axes before a slice, if the slice is whole along all but the first of their
    factors.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (
            not isinstance(op, graph.ReshapeOp)
            or (factors := split_factors_of_single_use(op)) is None
        ):
            return
        before = op.operand.owner
        if not isinstance(before, graph.SliceOp) or is_in_planned_group(before):
            return
        if not _is_slice_along_first_factors(before, factors):
            return
        shape: list[int] = []
        starts: list[int] = []
        steps: list[int] = []
        source_shape = tensor_type(before.operand).get_shape()
        axes = zip(factors, source_shape, before.starts, before.steps, strict=True)
        for extents, extent, start, step in axes:
            inner = prod(extents[1:])
            shape += (extent // inner, *extents[1:])
            starts += (start // inner, *(0 for _ in extents[1:]))
            steps += (step, *(1 for _ in extents[1:]))
        split = _reshape_shared_by_slices(before.operand, shape, rewriter)
        sizes = tensor_type(op.result).get_shape()
        rewriter.insertion_point = InsertPoint.before(op)
        rewriter.replace(op, graph.SliceOp(split, starts, sizes, steps))
        rewriter.erase(before)


def _is_slice_along_first_factors(op: graph.SliceOp, factors: AxisFactors) -> bool:
    """
    Return `True` if a slice of axes is a slice along the first of their factors only.
    """
    shape = tensor_type(op.operand).get_shape()
    axes = zip(factors, shape, op.starts, op.steps, strict=True)
    return all(factors) and all(
        len(axis_factors) == 1
        or (
            step == 1
            and not extent % prod(axis_factors[1:])
            and not start % prod(axis_factors[1:])
        )
        for axis_factors, extent, start, step in axes
    )


def _reshape_shared_by_slices(
    value: SSAValue, shape: Sequence[int], rewriter: PatternRewriter
) -> SSAValue:
    """Return a reshaped value; slices of the value share one reshape."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, graph.ReshapeOp):
            if tensor_type(user.result).get_shape() == tuple(shape):
                return user.result
    owner = value.owner
    rewriter.insertion_point = (
        InsertPoint.after(owner)
        if isinstance(owner, Operation)
        else InsertPoint.at_start(owner)
    )
    return reshape_to(value, shape, rewriter)
