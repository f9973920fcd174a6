"""Multiplying along the parts of an axis that repeats what it holds, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.merged_axes import merge_late
from tlf.passes.graph.permutations import inverse, reshaped
from tlf.passes.graph.product import Axes, Product
from tlf.passes.graph.split_axes import (
    Factors,
    factors_along,
    flat,
    note_split,
    places,
    split_factors,
    split_product,
)


@dataclass
class SplitRepeatedPattern(RewritePattern):
    """
    Split an axis of a product of which a reshape has merged parts that a broadcast
    repeats: keys and values of attention whose heads share them. The product reads what
    is repeated once. (Grouped-query attention: J. Ainslie et al., EMNLP 2023.)
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.of(op)) is None:
            return
        for side, value in enumerate(product.values):
            found = _Repeated.of(value)
            if found is None or not found.splits(product, side):
                continue
            note_split(op)
            rewriter.insertion_point = InsertPoint.before(op)
            self._split(product, side, found, rewriter)
            return

    def _split(
        self,
        product: Product,
        side: int,
        found: _Repeated,
        rewriter: PatternRewriter,
    ) -> None:
        parts = dict(zip(product.axes[side], found.parts, strict=True))
        factors = factors_along(product.op.results[0], product.result, parts)
        split = split_product(product, parts, rewriter)
        made = rewriter.insert(found.read_by(split, side, rewriter).build())
        merge_late(product.op, made.result, factors, rewriter)


@dataclass(frozen=True)
class _Repeated:
    """A tensor of which a reshape merged axes behind a broadcast."""

    broadcast: graph.BroadcastOp
    parts: Factors
    """The extents that each axis was merged of, in the order of the tensor's axes."""
    order: Axes
    """The places of the broadcast's axes among the parts, if one follows the other."""

    @staticmethod
    def of(value: SSAValue) -> _Repeated | None:
        """
        Return the broadcast that a tensor repeats, under the axes that it has; None if
        it repeats none.
        """
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
        return _Repeated(broadcast, parts, inverse(places(factors, permutation)))

    @property
    def kept(self) -> list[int]:
        """The axes of the broadcast that do not repeat anything."""
        source = tensor_type(self.broadcast.operand).get_shape()
        shape = tensor_type(self.broadcast.result).get_shape()
        source = (1,) * (len(shape) - len(source)) + tuple(source)
        pairs = enumerate(zip(source, shape, strict=True))
        return [axis for axis, (before, after) in pairs if before == after]

    def splits(self, product: Product, side: int) -> bool:
        """
        Return `True` if an axis of the result has parts that are repeated beside others
        that are not, and the other factor runs along all that is repeated.
        """
        kept = {self.order[axis] for axis in self.kept}
        extents, is_mixed = flat(self.parts), False
        for number, axis in enumerate(product.axes[side]):
            sizes = {True: 1, False: 1}
            for place in places(self.parts, [number]):
                sizes[place in kept] *= extents[place]
            if sizes[False] > 1 and axis not in product.axes[1 - side]:
                return False
            is_mixed |= axis in product.result and min(sizes.values()) > 1
        return is_mixed

    def read_by(
        self, product: Product, side: int, rewriter: PatternRewriter
    ) -> Product:
        """The product along the parts, of what the broadcast repeats."""
        shape = tensor_type(self.broadcast.result).get_shape()
        source = [shape[axis] for axis in self.kept]
        iterators = product.axes[side]
        values, axes = list(product.values), list(product.axes)
        values[side] = reshaped(self.broadcast.operand, source, rewriter)
        axes[side] = tuple(iterators[self.order[axis]] for axis in self.kept)
        return replace(
            product,
            values=cast(tuple[SSAValue, SSAValue], tuple(values)),
            axes=cast(tuple[Axes, Axes], tuple(axes)),
        )
