"""
Rewrite pattern of the pass `graph-fold-transposes` that drops unit axes along which
contraction operands are broadcast.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import (
    Axes,
    Product,
    iterators_of_plain_accesses,
)
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.op_replacement import is_in_planned_group
from tlf.support.affine.index_access import IndexAccess


def _unit_axes_without_iterator(
    op: ContractionInterface, operand_index: int
) -> set[int]:
    """Return the unit axes of an operand that no iterator runs along."""
    shape = tensor_type(op.operands[operand_index]).get_shape()
    accesses = op.indexing_maps()[operand_index] or ()
    pairs = enumerate(zip(shape, accesses, strict=False))
    return {
        n for n, (extent, access) in pairs if extent == 1 and access == IndexAccess()
    }


def _drop_unit_axes(
    value: SSAValue, unit_axes: Collection[int], builder: Builder
) -> SSAValue:
    """
    Return a value without some unit axes; a transposed value remains a transpose.
    """
    shape, producer = tensor_type(value).get_shape(), value.owner
    remaining = [axis for axis in range(len(shape)) if axis not in unit_axes]
    if len(remaining) == len(shape):
        return value
    if not isinstance(producer, graph.TransposeOp):
        return reshape_to(value, [shape[axis] for axis in remaining], builder)
    before = tensor_type(producer.operand).get_shape()
    source_axes = [producer.axis_list[axis] for axis in remaining]
    order = sorted(source_axes)
    source = reshape_to(producer.operand, [before[axis] for axis in order], builder)
    permutation = [order.index(axis) for axis in source_axes]
    transpose = builder.insert(graph.TransposeOp(source, permutation))
    transpose.location = producer.location
    return transpose.result


def _operand_iterators_without_axes(
    op: ContractionInterface, operand_index: int, dropped_axes: Collection[int]
) -> Axes | None:
    """Return the iterators of the other axes; `None` if an access is not plain."""
    accesses = op.indexing_maps()[operand_index] or ()
    return iterators_of_plain_accesses(
        tuple(a for n, a in enumerate(accesses) if n not in dropped_axes)
    )


def _product_ignoring_axes(
    op: ContractionInterface, dropped_axes: Sequence[Collection[int]]
) -> Product | None:
    """
    Return a contraction as a product that ignores the dropped axes of its operands;
    None if it has windows. The operands still have these axes.
    """
    lhs, rhs = (
        _operand_iterators_without_axes(op, side, axes)
        for side, axes in enumerate(dropped_axes)
    )
    result = iterators_of_plain_accesses(op.result_indexing_maps()[0])
    if lhs is None or rhs is None or result is None:
        return None
    product = Product(op, (op.operands[0], op.operands[1]), (lhs, rhs), result)
    return product if product.has_all_iterators_in_operands() else None


@dataclass
class DropBroadcastDimsPattern(RewritePattern):
    """
    Drop the unit axes along which an operand of a contraction is broadcast, such as
    heads or a batch.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ContractionInterface) or is_in_planned_group(op):
            return
        dropped = [_unit_axes_without_iterator(op, side) for side in range(2)]
        if op.init_value is not None or not any(dropped):
            return
        if (product := _product_ignoring_axes(op, dropped)) is None:
            return
        builder = Builder(InsertPoint.before(op))
        lhs, rhs = (
            _drop_unit_axes(value, axes, builder)
            for value, axes in zip(product.values, dropped, strict=True)
        )
        text = f"{op.name.removeprefix('graph.')} is without axes of extent 1"
        graph.add_remark(op, "graph-fold-transposes", "passed", text)
        narrowed = Product(op, (lhs, rhs), product.axes, product.result)
        rewriter.replace(op, narrowed.build_contract())
