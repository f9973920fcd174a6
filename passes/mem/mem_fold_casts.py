"""Pass `mem-fold-casts`: folds rounding maps into the contractions before them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import mem
from tlf.dialects.function_calls import defined_functions_of
from tlf.planner.folding.cast_folding import select_foldable_casts
from tlf.planner.folding.mem_fold_operations import (
    collect_fold_operations,
    find_whole_allocation,
)


@dataclass(frozen=True)
class MemFoldCastsPass(ModulePass):
    """
    Fold a rounding map into the contraction before it.

    A contraction of 16-bit factors that overwrites an f32 buffer writes rounded sums
    instead, if a map rounds them to the type of the factors and no other operation uses
    the buffer. The contraction still accumulates in f32 and rounds once. Sums over
    several contractions, and sums with another first use, are not folded.
    """

    name = "mem-fold-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            operations = collect_fold_operations(function.body.block)
            for product, rounding in select_foldable_casts(operations):
                assert isinstance(product, mem.ContractOp)
                assert isinstance(rounding, mem.MapOp)
                _fold_rounding_into_contraction(product, rounding)


def _fold_rounding_into_contraction(
    product: mem.ContractOp, rounding: mem.MapOp
) -> None:
    """Let `product` write the result of `rounding`; erase the map and f32 buffer."""
    allocation, result = find_whole_allocation(product.acc), rounding.outputs[0].owner
    assert allocation is not None
    assert isinstance(result, mem.AllocOp)
    block = product.parent
    assert block is not None
    if not result.is_before_in_block(product):
        result.detach()
        block.insert_op_before(result, product)
    view, index = product.acc.owner, product.operands.index(product.acc)
    if isinstance(view, memref.ReinterpretCastOp):
        product.operands[index] = _reinterpret_like_result_view(
            view, result.buffer, product
        )
        Rewriter.erase_op(view)
    else:
        product.operands[index] = result.buffer
    Rewriter.erase_op(rounding)
    Rewriter.erase_op(allocation)


def _reinterpret_like_result_view(
    view: memref.ReinterpretCastOp, buffer: SSAValue, product: mem.ContractOp
) -> SSAValue:
    """
    Insert a view of `buffer` with the geometry of `view` and the contraction's operand
    type, before the contraction.
    """
    view_type, element = view.result.type, product.input_types[0].element_type
    reinterpreted = memref.ReinterpretCastOp.from_dynamic(
        buffer,
        list(view.static_offsets.get_values()),
        list(view.static_sizes.get_values()),
        list(view.static_strides.get_values()),
        MemRefType(
            element, view_type.get_shape(), view_type.layout, view_type.memory_space
        ),
    )
    reinterpreted.location = view.location
    return Builder(InsertPoint.before(product)).insert(reinterpreted).result
