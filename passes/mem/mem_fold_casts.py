"""Pass `mem-fold-casts`: folds rounding maps into the contractions before them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.map_operations import scalar_operations_of_map
from tlf.analysis.buffers.mem_liveness import users_of_buffer
from tlf.analysis.buffers.memory_effects import has_access_to_buffer, root_buffer_of
from tlf.dialects import mem
from tlf.dialects.types import is_16_bit_float, memref_type
from tlf.support.affine.linear_access import is_identity


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
        for each in list(op.walk()):
            if isinstance(each, mem.ContractOp) and (
                rounding := _foldable_rounding_map_of(each)
            ):
                _fold_rounding_into_contraction(each, rounding)


def _foldable_rounding_map_of(product: mem.ContractOp) -> mem.MapOp | None:
    """Return the map that rounds the result of a contraction and can be folded."""
    buffer, element = product.acc, product.input_types[0].element_type
    if not product.is_always_overwriting or not is_16_bit_float(element):
        return None
    if (allocation := _whole_allocation_of(buffer)) is None:
        return None
    buffer = allocation.buffer
    other_users = [
        op for op in dict.fromkeys(users_of_buffer(buffer)) if op is not product
    ]
    if len(other_users) != 1 or not isinstance(rounding := other_users[0], mem.MapOp):
        return None
    if rounding.parent is not product.parent or rounding.is_before_in_block(product):
        return None
    if not _is_rounding_map(rounding, buffer) or not _is_result_buffer_unused_between(
        rounding, product
    ):
        return None
    return rounding if rounding.output_types[0].element_type == element else None


def _whole_allocation_of(buffer: SSAValue) -> mem.AllocOp | None:
    """
    Return the allocation that a buffer covers completely, in any shape; else None.
    """
    owner = buffer.owner
    base = owner.source if isinstance(owner, memref.ReinterpretCastOp) else buffer
    if not isinstance(base.owner, mem.AllocOp):
        return None
    shapes = [memref_type(each).get_shape() for each in (buffer, base)]
    return base.owner if prod(shapes[0]) == prod(shapes[1]) else None


def _is_rounding_map(op: mem.MapOp, buffer: SSAValue) -> bool:
    """Return `True` if a map only truncates the floats of `buffer` into one output."""
    body = scalar_operations_of_map(op)
    return (
        list(op.inputs) == [buffer]
        and len(op.outputs) == 1
        and all(is_identity(each) for each in (*op.input_maps, *op.output_maps))
        and [type(each) for each in body] == [arith.TruncFOp]
        and op.input_types[0].get_shape() == op.output_types[0].get_shape()
    )


def _is_result_buffer_unused_between(
    rounding: mem.MapOp, product: mem.ContractOp
) -> bool:
    """
    Return `True` if no operation from the contraction to the map accesses the result
    buffer of the map.
    """
    result = root_buffer_of(rounding.outputs[0])
    if result in map(root_buffer_of, product.input_operands):
        return False
    owner = result.owner
    if not isinstance(owner, mem.AllocOp) or rounding.outputs[0] is not result:
        return False
    op = product.next_op
    while op is not None and op is not rounding:
        if has_access_to_buffer(op, result):
            return False
        op = op.next_op
    return owner.parent is product.parent


def _fold_rounding_into_contraction(
    product: mem.ContractOp, rounding: mem.MapOp
) -> None:
    """Let `product` write the result of `rounding`; erase the map and f32 buffer."""
    allocation, result = _whole_allocation_of(product.acc), rounding.outputs[0].owner
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
