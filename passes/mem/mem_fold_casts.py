"""
The pass `mem-fold-casts`: products that round their sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.mem_liveness import users
from tlf.analysis.buffers.touches import root_of, touches
from tlf.dialects import mem
from tlf.dialects.types import is_half
from tlf.passes.mem.mem_split_maps import is_structure
from tlf.support.affine.linear_map import is_identity


@dataclass(frozen=True)
class MemFoldCastsPass(ModulePass):
    """
    Let contractions write what a map would round their sums to.

    A contraction of 16-bit factors that overwrites a buffer of f32 writes the rounded
    sums, if a map behind it rounds them to the type of the factors and nothing else
    reads the buffer. It adds up in f32, and rounds once, as the two did. Sums over
    several contractions stay as they are, and so do those that are not rounded first
    of all.
    """

    name = "mem-fold-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, mem.ContractOp) and (rounding := _cast_of(each)):
                _fold(each, rounding)


def _cast_of(product: mem.ContractOp) -> mem.MapOp | None:
    """The map that rounds what a contraction overwrites, if that is all it is for."""
    buffer, element = product.acc, product.input_types[0].element_type
    if not product.always_overwrites or not is_half(element):
        return None
    if (total := _all_of(buffer)) is None:
        return None
    buffer = total.buffer
    others = [op for op in dict.fromkeys(users(buffer)) if op is not product]
    if len(others) != 1 or not isinstance(rounding := others[0], mem.MapOp):
        return None
    if rounding.parent is not product.parent or rounding.is_before_in_block(product):
        return None
    if not _rounds(rounding, buffer) or not _is_free(rounding, product):
        return None
    return rounding if rounding.output_types[0].element_type == element else None


def _all_of(buffer: SSAValue) -> mem.AllocOp | None:
    """
    Return the allocation of a buffer if the buffer shows all of it, in any shape; else
    None.
    """
    owner = buffer.owner
    whole = owner.source if isinstance(owner, memref.ReinterpretCastOp) else buffer
    if not isinstance(whole.owner, mem.AllocOp):
        return None
    shapes = [
        cast(MemRefType[Attribute], each.type).get_shape() for each in (buffer, whole)
    ]
    return whole.owner if prod(shapes[0]) == prod(shapes[1]) else None


def _rounds(op: mem.MapOp, buffer: SSAValue) -> bool:
    """Return `True` if a map does nothing but round the elements of a buffer."""
    body = [each for each in op.body.block.ops if not is_structure(each)]
    return (
        list(op.inputs) == [buffer]
        and len(op.outputs) == 1
        and all(is_identity(each) for each in (*op.input_maps, *op.output_maps))
        and [type(each) for each in body] == [arith.TruncFOp]
        and op.input_types[0].get_shape() == op.output_types[0].get_shape()
    )


def _is_free(rounding: mem.MapOp, product: mem.ContractOp) -> bool:
    """
    Return `True` if the result buffer of a map is free when the contraction writes to
    it.
    """
    result = root_of(rounding.outputs[0])
    if result in map(root_of, product.input_operands):
        return False
    owner = result.owner
    if not isinstance(owner, mem.AllocOp) or rounding.outputs[0] is not result:
        return False
    op = product.next_op
    while op is not None and op is not rounding:
        if touches(op, result):
            return False
        op = op.next_op
    return owner.parent is product.parent


def _fold(product: mem.ContractOp, rounding: mem.MapOp) -> None:
    total, result = _all_of(product.acc), rounding.outputs[0].owner
    assert total is not None
    assert isinstance(result, mem.AllocOp)
    block = product.parent
    assert block is not None
    if not result.is_before_in_block(product):
        result.detach()
        block.insert_op_before(result, product)
    view, index = product.acc.owner, product.operands.index(product.acc)
    if isinstance(view, memref.ReinterpretCastOp):
        product.operands[index] = _under_shape(view, result.buffer, product)
        Rewriter.erase_op(view)
    else:
        product.operands[index] = result.buffer
    Rewriter.erase_op(rounding)
    Rewriter.erase_op(total)


def _under_shape(
    view: memref.ReinterpretCastOp, buffer: SSAValue, product: mem.ContractOp
) -> SSAValue:
    """A buffer under the shape in which a view shows another one to a product."""
    shown, element = view.result.type, product.input_types[0].element_type
    made = memref.ReinterpretCastOp.from_dynamic(
        buffer,
        list(view.static_offsets.get_values()),
        list(view.static_sizes.get_values()),
        list(view.static_strides.get_values()),
        MemRefType(element, shown.get_shape(), shown.layout, shown.memory_space),
    )
    made.location = view.location
    return Builder(InsertPoint.before(product)).insert(made).result
