"""
Rewrite pattern of the pass `graph-hoist-reshapes` that folds broadcasts with collapsed
axes into contractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import inverse_permutation, reshape_to
from tlf.passes.graph.sink_collapse import sink_collapse_past_users
from tlf.passes.graph.split_axes import (
    AxisFactors,
    axis_factors_from_splits,
    factor_indices_of_axes,
    remark_split_before_op,
    shape_of_factors,
    split_factors_of_shapes,
    split_iterators_of_product,
)


@dataclass
class SplitBroadcastPattern(RewritePattern):
    """
    Split a contraction axis that a reshape collapsed from broadcast axes, such as keys
    and values that several heads of attention share. The product reads the operand of
    the broadcast once. (Grouped-query attention: J. Ainslie et al., EMNLP 2023.)
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.from_operation(op)) is None:
            return
        for side, value in enumerate(product.values):
            collapsed = _CollapsedBroadcast.from_value(value)
            if collapsed is None or not collapsed.can_split_in_product(product, side):
                continue
            remark_split_before_op(op)
            rewriter.insertion_point = InsertPoint.before(op)
            self._split_broadcast_axis_of_product(product, side, collapsed, rewriter)
            return

    def _split_broadcast_axis_of_product(
        self,
        product: Product,
        operand_index: int,
        collapsed_broadcast: _CollapsedBroadcast,
        rewriter: PatternRewriter,
    ) -> None:
        """Replace `product` by a contraction that reads the broadcast's operand."""
        splits = dict(
            zip(
                product.axes[operand_index],
                collapsed_broadcast.axis_factors,
                strict=True,
            )
        )
        factors = axis_factors_from_splits(
            product.op.results[0], product.result, splits
        )
        split = split_iterators_of_product(product, splits, rewriter)
        contract = rewriter.insert(
            collapsed_broadcast.replace_operand_by_broadcast_source(
                split, operand_index, rewriter
            ).build_contract()
        )
        sink_collapse_past_users(product.op, contract.result, factors, rewriter)


@dataclass(frozen=True)
class _CollapsedBroadcast:
    """
    Description of a tensor as a broadcast whose axes a reshape collapses, and a
    transpose may permute.
    """

    broadcast: graph.BroadcastOp
    axis_factors: AxisFactors
    """The extents that each axis of the tensor was collapsed from."""
    transposed_factor_indices: Axes
    """Index of each axis of the broadcast among the flattened factors."""

    @staticmethod
    def from_value(value: SSAValue) -> _CollapsedBroadcast | None:
        """Return a tensor as a collapsed broadcast, possibly transposed, or None."""
        permutation: Sequence[int] = range(len(tensor_type(value).get_shape()))
        if isinstance(transpose := value.owner, graph.TransposeOp):
            permutation, value = transpose.axis_list, transpose.operand
        collapse = value.owner
        if not isinstance(collapse, graph.ReshapeOp):
            return None
        broadcast = collapse.operand.owner
        shapes = [tensor_type(each).get_shape() for each in (value, collapse.operand)]
        factors = split_factors_of_shapes(*shapes)
        if factors is None or not isinstance(broadcast, graph.BroadcastOp):
            return None
        axis_factors = tuple(factors[axis] for axis in permutation)
        return _CollapsedBroadcast(
            broadcast,
            axis_factors,
            inverse_permutation(factor_indices_of_axes(factors, permutation)),
        )

    @property
    def non_broadcast_axes(self) -> list[int]:
        """
        Axes of the broadcast result whose extents are those of the operand, ascending.
        """
        source = tensor_type(self.broadcast.operand).get_shape()
        shape = tensor_type(self.broadcast.result).get_shape()
        source = (1,) * (len(shape) - len(source)) + tuple(source)
        pairs = enumerate(zip(source, shape, strict=True))
        return [axis for axis, (before, after) in pairs if before == after]

    def can_split_in_product(self, product: Product, operand_index: int) -> bool:
        """
        Return `True` if an axis of the result is collapsed from broadcast and other
        axes, and the other operand runs along all axes with broadcast factors.
        """
        read_positions = {
            self.transposed_factor_indices[axis] for axis in self.non_broadcast_axes
        }
        extents, is_mixed = shape_of_factors(self.axis_factors), False
        for dim, axis in enumerate(product.axes[operand_index]):
            sizes = {True: 1, False: 1}
            for position in factor_indices_of_axes(self.axis_factors, [dim]):
                sizes[position in read_positions] *= extents[position]
            if sizes[False] > 1 and axis not in product.axes[1 - operand_index]:
                return False
            is_mixed |= axis in product.result and min(sizes.values()) > 1
        return is_mixed

    def replace_operand_by_broadcast_source(
        self, product: Product, operand_index: int, rewriter: PatternRewriter
    ) -> Product:
        """Return the product that reads the broadcast's operand along split axes."""
        shape = tensor_type(self.broadcast.result).get_shape()
        source = [shape[axis] for axis in self.non_broadcast_axes]
        iterators = product.axes[operand_index]
        values, axes = list(product.values), list(product.axes)
        values[operand_index] = reshape_to(self.broadcast.operand, source, rewriter)
        axes[operand_index] = tuple(
            iterators[self.transposed_factor_indices[axis]]
            for axis in self.non_broadcast_axes
        )
        return replace(
            product,
            values=cast(tuple[SSAValue, SSAValue], tuple(values)),
            axes=cast(tuple[Axes, Axes], tuple(axes)),
        )
