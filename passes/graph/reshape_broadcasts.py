"""Pattern that contracts along collapsed broadcast axes without copies."""

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
    factors_along,
    flatten_factors,
    remark_split,
    split_factors,
    split_positions,
    split_product,
)


@dataclass
class SplitBroadcastPattern(RewritePattern):
    """
    Split a contraction axis that a reshape collapsed from broadcast axes: keys and
    values of attention whose heads share them. The product reads what is repeated once.
    (Grouped-query attention: J. Ainslie et al., EMNLP 2023.)
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.of(op)) is None:
            return
        for side, value in enumerate(product.values):
            found = _CollapsedBroadcast.of(value)
            if found is None or not found.can_split(product, side):
                continue
            remark_split(op)
            rewriter.insertion_point = InsertPoint.before(op)
            self._split_contraction(product, side, found, rewriter)
            return

    def _split_contraction(
        self,
        product: Product,
        side: int,
        found: _CollapsedBroadcast,
        rewriter: PatternRewriter,
    ) -> None:
        parts = dict(zip(product.axes[side], found.axis_factors, strict=True))
        factors = factors_along(product.op.results[0], product.result, parts)
        split = split_product(product, parts, rewriter)
        made = rewriter.insert(
            found.read_broadcast_source(split, side, rewriter).build_contract()
        )
        sink_collapse_past_users(product.op, made.result, factors, rewriter)


@dataclass(frozen=True)
class _CollapsedBroadcast:
    """A tensor that a reshape collapsed from a broadcast."""

    broadcast: graph.BroadcastOp
    axis_factors: AxisFactors
    """The extents that each axis was merged of, in the order of the tensor's axes."""
    positions: Axes
    """The places of the broadcast's axes among the parts, if one follows the other."""

    @staticmethod
    def of(value: SSAValue) -> _CollapsedBroadcast | None:
        """Return the broadcast that a tensor is collapsed from, or None."""
        permutation: Sequence[int] = range(len(tensor_type(value).get_shape()))
        if isinstance(moved := value.owner, graph.TransposeOp):
            permutation, value = moved.axis_list, moved.operand
        merged = value.owner
        if not isinstance(merged, graph.ReshapeOp):
            return None
        broadcast = merged.operand.owner
        shapes = [tensor_type(each).get_shape() for each in (value, merged.operand)]
        factors = split_factors(*shapes)
        if factors is None or not isinstance(broadcast, graph.BroadcastOp):
            return None
        parts = tuple(factors[axis] for axis in permutation)
        return _CollapsedBroadcast(
            broadcast, parts, inverse_permutation(split_positions(factors, permutation))
        )

    @property
    def non_broadcast_axes(self) -> list[int]:
        """The axes of the broadcast result that are not broadcast."""
        source = tensor_type(self.broadcast.operand).get_shape()
        shape = tensor_type(self.broadcast.result).get_shape()
        source = (1,) * (len(shape) - len(source)) + tuple(source)
        pairs = enumerate(zip(source, shape, strict=True))
        return [axis for axis, (before, after) in pairs if before == after]

    def can_split(self, product: Product, side: int) -> bool:
        """
        Return `True` if an axis of the result mixes broadcast factors with others, and
        the other operand runs along all that are broadcast.
        """
        kept = {self.positions[axis] for axis in self.non_broadcast_axes}
        extents, is_mixed = flatten_factors(self.axis_factors), False
        for number, axis in enumerate(product.axes[side]):
            sizes = {True: 1, False: 1}
            for place in split_positions(self.axis_factors, [number]):
                sizes[place in kept] *= extents[place]
            if sizes[False] > 1 and axis not in product.axes[1 - side]:
                return False
            is_mixed |= axis in product.result and min(sizes.values()) > 1
        return is_mixed

    def read_broadcast_source(
        self, product: Product, side: int, rewriter: PatternRewriter
    ) -> Product:
        """Return the product that reads the broadcast's operand, along split axes."""
        shape = tensor_type(self.broadcast.result).get_shape()
        source = [shape[axis] for axis in self.non_broadcast_axes]
        iterators = product.axes[side]
        values, axes = list(product.values), list(product.axes)
        values[side] = reshape_to(self.broadcast.operand, source, rewriter)
        axes[side] = tuple(
            iterators[self.positions[axis]] for axis in self.non_broadcast_axes
        )
        return replace(
            product,
            values=cast(tuple[SSAValue, SSAValue], tuple(values)),
            axes=cast(tuple[Axes, Axes], tuple(axes)),
        )
