"""
Pass `graph-transpose-weights`: stores weights in the order in which they are
multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.passes.graph.contraction_product import Product
from tlf.planner.cost.gpu.gpu_parameters import Chip


@dataclass(frozen=True)
class GraphTransposeWeightsPass(ModulePass):
    """
    Transpose the call-invariant factors of matrix products on targets that compute on
    tiles in registers. `graph-outline-prepare` transposes weights before the first
    call.

    Rows of factors that lanes multiply run along the result: each lane multiplies
    neighbouring elements, which it then loads at once. Rows of factors of matrix
    instructions run along the reduction if their elements are wider than those that the
    instructions transpose. Narrower factors are read in both orders.
    """

    name = "graph-transpose-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.computes_in_registers:
            return
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _transpose_weights_of_block(function.body.block, target)


def _transpose_weights_of_block(block: Block, target: TargetSpec) -> None:
    """Transpose the weights of all products whose extents have a minimum."""
    invariant, chip = call_invariant_values_of(block), Chip.from_target(target)
    min_extent = target.tiling.matrix_minimum or 1
    for op in list(block.ops):
        product = Product.from_operation(op)
        if product is None or not product.has_min_extents(min_extent):
            continue
        if (along_result := _do_rows_run_along_result(product.op, chip)) is None:
            continue
        for side in range(2):
            if product.values[side] in invariant:
                _transpose_weight(op, product, side, along_result)
                break


def _do_rows_run_along_result(
    op: ContractionInterface, chip: Chip | None
) -> bool | None:
    """
    Return `True` if rows of the factors should run along the result, `False` if along
    the reduction, and `None` if both orders are alike.
    """
    elements = {tensor_type(value).element_type for value in op.operands[:2]}
    if not elements <= {f32, f64}:
        return None
    if chip is None or not chip.has_matrix_instructions_for(op):
        return True
    is_transposed = chip.gpu.matrix_transpose >= max(map(itemsize_of, op.operands[:2]))
    return None if is_transposed else False


def _transpose_weight(
    op: Operation, product: Product, side: int, along_result: bool
) -> None:
    """
    Replace a product by one with a weight whose axes along the result, or along the
    reduction, are last, unless they are.
    """
    axes = product.axes[side]
    order = sorted(
        range(len(axes)),
        key=lambda axis: (axes[axis] in product.result) == along_result,
    )
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
