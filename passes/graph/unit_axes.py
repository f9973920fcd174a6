"""Products without axes of extent 1 that reshapes add to what they multiply."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.product import Axes, Product


def _is_spread(value: SSAValue) -> bool:
    """Return `True` if a value is another one with additional axes of extent 1."""
    if not isinstance(view := value.owner, graph.ReshapeOp):
        return False
    before, after = (
        tensor_type(each).get_shape() for each in (view.operand, view.result)
    )
    extents = [[each for each in shape if each != 1] for shape in (before, after)]
    return len(before) < len(after) and extents[0] == extents[1]


def _added(product: Product, side: int) -> set[int]:
    """
    The iterators of extent 1 along one operand and the result alone, where longer ones
    run along these alone, too: the product has rows, or columns, without them.
    """
    if not _is_spread(product.values[side]):
        return set()
    own = {*product.axes[side]}.difference(product.axes[1 - side])
    free = own.intersection(product.result)
    iterators = product.op.iterators()
    units = {axis for axis in free if iterators[axis].extent == 1}
    return units if units != free else set()


def _without(product: Product, dropped: Collection[int], builder: Builder) -> Product:
    """A product without some of its iterators of extent 1."""
    used = [axis for axis in range(len(product.op.iterators())) if axis not in dropped]

    def left(axes: Axes) -> Axes:
        return tuple(used.index(axis) for axis in axes if axis not in dropped)

    def seen(value: SSAValue, axes: Axes) -> SSAValue:
        if not set(axes).intersection(dropped):
            return value
        pairs = zip(tensor_type(value).get_shape(), axes, strict=True)
        shape = [extent for extent, axis in pairs if axis not in dropped]
        return reshaped(cast(graph.ReshapeOp, value.owner).operand, shape, builder)

    lhs, rhs = map(seen, product.values, product.axes)
    axes = left(product.axes[0]), left(product.axes[1])
    return Product(product.op, (lhs, rhs), axes, left(product.result))


@dataclass
class DropUnitPattern(RewritePattern):
    """
    Multiply a tensor without the axes of extent 1 that a reshape adds to it, and add
    them to the result.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.of(op)) is None:
            return
        dropped = _added(product, 0) | _added(product, 1)
        if not dropped:
            return
        builder = Builder(InsertPoint.before(op))
        made = builder.insert(_without(product, dropped, builder).build())
        shape = tensor_type(op.results[0]).get_shape()
        mnemonic = op.name.removeprefix("graph.")
        text = f"{mnemonic} is without axes of extent 1"
        graph.remark(op, "graph-fold-transposes", "passed", text)
        rewriter.replace(op, graph.ReshapeOp(made, shape))
