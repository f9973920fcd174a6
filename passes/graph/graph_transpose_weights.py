"""
Pass `graph-transpose-weights`: stores weights that lanes multiply with rows of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.graph.packed_images import LOAD_BYTES
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.passes.graph.contraction_product import Product


@dataclass(frozen=True)
class GraphTransposeWeightsPass(ModulePass):
    """
    Transpose the call-invariant factors of matrix products of f32 and f64 whose rows
    run along the reduction, on targets that compute on tiles in registers, so that
    their rows run along the result: each lane multiplies neighbouring elements, which
    it then loads at once. `graph-outline-prepare` transposes weights before the first
    call.

    Matrix instructions read factors of narrower types in both orders. Their rows run
    along the reduction afterwards if they have less than the bytes of one load, such as
    the taps of a filter.
    """

    name = "graph-transpose-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.computes_in_registers:
            return
        least = target.tiling.matrix_minimum or 1
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _transpose_weights_of_block(function.body.block, least)


def _transpose_weights_of_block(block: Block, min_extent: int) -> None:
    """Transpose the weights of all products whose extents have a minimum."""
    invariant = call_invariant_values_of(block)
    for op in list(block.ops):
        product = Product.from_operation(op)
        if product is None:
            continue
        for side in range(2):
            if product.values[side] in invariant:
                _transpose_weight_if_slow(op, product, side, min_extent)
                break


def _transpose_weight_if_slow(
    op: Operation, product: Product, side: int, min_extent: int
) -> None:
    """Transpose a weight of a product if the product would read it more slowly."""
    is_along_result = [axis in product.result for axis in product.axes[side]]
    if _is_computed_by_lanes(product, min_extent):
        _transpose_weight(op, product, side, is_along_result)
    elif _has_short_rows(product.values[side]):
        is_reduced = [not each for each in is_along_result]
        _transpose_weight(op, product, side, is_reduced)


def _has_short_rows(weight: SSAValue) -> bool:
    """Return `True` if a load of a thread is longer than a row of a weight."""
    rows = [extent for extent in tensor_type(weight).get_shape() if extent > 1]
    return bool(rows) and rows[-1] * itemsize_of(weight) < LOAD_BYTES


def _is_computed_by_lanes(product: Product, min_extent: int) -> bool:
    """
    Return `True` if a product is a matrix product in a type without matrix
    instructions, whose rows, columns and reduction have a minimum extent.
    """
    elements = {tensor_type(value).element_type for value in product.values}
    if not elements <= {f32, f64} or product.op.precision != "ieee":
        return False
    left, right = map(set, product.axes)
    extents = [each.extent for each in product.op.iteration_domain()]
    parts = (left - right, right - left, (left & right) - set(product.result))
    return all(prod(extents[each] for each in part) >= min_extent for part in parts)


def _transpose_weight(
    op: Operation, product: Product, side: int, is_last: Sequence[bool]
) -> None:
    """
    Replace a product by one with a weight whose selected axes are last, unless the last
    one is.
    """
    axes = product.axes[side]
    order = sorted(range(len(axes)), key=lambda axis: is_last[axis])
    if order[-1] == len(axes) - 1:
        return
    rewriter = located_rewriter_at(op)
    transpose = rewriter.insert(graph.TransposeOp(product.values[side], order))
    values: list[SSAValue] = list(product.values)
    values[side] = transpose.result
    sides = list(product.axes)
    sides[side] = tuple(axes[axis] for axis in order)
    moved = replace(
        product,
        values=cast(tuple[SSAValue, SSAValue], tuple(values)),
        axes=cast(tuple[tuple[int, ...], tuple[int, ...]], tuple(sides)),
    )
    rewriter.replace(op, moved.build_contract())
