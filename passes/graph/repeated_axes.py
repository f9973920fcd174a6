"""Products without axes of one element, along which their operands are repeated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.product import Axes, Product, projection
from tlf.support.affine.access import Access


def _repeated(op: ContractionInterface, side: int) -> set[int]:
    """The axes of an operand that have one element for all iterations."""
    shape = tensor_type(op.operands[side]).get_shape()
    accesses = op.operand_accesses()[side] or ()
    pairs = enumerate(zip(shape, accesses, strict=False))
    return {n for n, (extent, access) in pairs if extent == 1 and access == Access()}


def _without(value: SSAValue, axes: Collection[int], builder: Builder) -> SSAValue:
    """A value without axes of one element, permuted as it was without them."""
    shape, moved = tensor_type(value).get_shape(), value.owner
    left = [axis for axis in range(len(shape)) if axis not in axes]
    if len(left) == len(shape):
        return value
    if not isinstance(moved, graph.TransposeOp):
        return reshaped(value, [shape[axis] for axis in left], builder)
    before = tensor_type(moved.operand).get_shape()
    kept = [moved.axis_list[axis] for axis in left]
    order = sorted(kept)
    source = reshaped(moved.operand, [before[axis] for axis in order], builder)
    places = [order.index(axis) for axis in kept]
    made = builder.insert(graph.TransposeOp(source, places))
    made.location = moved.location
    return made.result


def _axes(op: ContractionInterface, side: int, dropped: Collection[int]) -> Axes | None:
    accesses = op.operand_accesses()[side] or ()
    return projection(tuple(a for n, a in enumerate(accesses) if n not in dropped))


def _squeezed(
    op: ContractionInterface, dropped: Sequence[Collection[int]]
) -> Product | None:
    """
    A contraction as a product of operands without some of their axes, which it has yet;
    none where there is more to it, such as windows.
    """
    lhs, rhs = (_axes(op, side, axes) for side, axes in enumerate(dropped))
    result = projection(op.result_accesses()[0])
    if lhs is None or rhs is None or result is None:
        return None
    product = Product(op, (op.operands[0], op.operands[1]), (lhs, rhs), result)
    return product if product.is_whole() else None


@dataclass
class DropRepeatedPattern(RewritePattern):
    """
    Multiply a tensor that is the same for all heads, or all of a batch, without an axis
    for it.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ContractionInterface) or is_planned(op):
            return
        dropped = [_repeated(op, side) for side in range(2)]
        if op.init_value is not None or not any(dropped):
            return
        if (product := _squeezed(op, dropped)) is None:
            return
        builder = Builder(InsertPoint.before(op))
        lhs, rhs = (
            _without(value, axes, builder)
            for value, axes in zip(product.values, dropped, strict=True)
        )
        text = f"{op.name.removeprefix('graph.')} is without axes of extent 1"
        graph.remark(op, "graph-fold-transposes", "passed", text)
        made = Product(op, (lhs, rhs), product.axes, product.result)
        rewriter.replace(op, made.build())
