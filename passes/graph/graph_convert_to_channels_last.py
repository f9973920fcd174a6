"""
Pass `graph-convert-to-channels-last`: stores images of convolutions with channels last.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from tlf.dialects import graph
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.graph.stored_images import WindowRowsInterface
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.passes.graph.channels_last.channels_first_results import (
    ChannelsFirstResult,
)
from tlf.passes.graph.channels_last.image_rewrites import ImageRewriter
from tlf.passes.graph.channels_last.image_rows import ImageRows


@dataclass(frozen=True)
class GraphConvertToChannelsLastPass(ModulePass):
    """
    Compute convolutions, and the operations between them, on matrices with a row per
    pixel and a column per channel, for targets whose loads gather windows as rows: a
    convolution becomes a product of matrices. Images are transposed where operations
    need them with channels first, which are arguments, results, and operations that mix
    channels and pixels.
    """

    name = "graph-convert-to-channels-last"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        if not TargetSpec.read_from_module(op).has_indexed_loads:
            return
        for function in defined_functions_of(op):
            block = function.body.block
            if any(isinstance(op, WindowRowsInterface) for op in block.ops):
                _rewrite_images(block, ImageRows())


def _rewrite_images(block: Block, rows: ImageRows) -> None:
    """Rewrite operations on images, and then what gathers and results allow."""
    rewriter = ImageRewriter(rows)
    for op in list(block.ops):
        builder = located_rewriter_at(op)
        if (result := rewriter.rewrite(op, builder)) is not None:
            builder.replace(op, [], [result])
    for op in reversed(list(block.ops)):
        if is_trivially_dead(op):
            op.detach()
            op.erase()
    for op in list(block.ops):
        if isinstance(op, graph.CastOp):
            _hoist_narrowing_cast(op)
    if isinstance(last := block.last_op, func.ReturnOp):
        _build_returned_images(last, rows)


def _build_returned_images(op: func.ReturnOp, rows: ImageRows) -> None:
    """Compute the images that a function returns with channels first where possible."""
    for image in dict.fromkeys(op.operands):
        if not image.has_one_use() or (matrix := rows.known_rows_of(image)) is None:
            continue
        result = ChannelsFirstResult(tensor_type(image).get_shape())
        if result.can_build(matrix):
            built = result.build(located_rewriter_at(op), matrix)
            image.replace_all_uses_with(built)


def _hoist_narrowing_cast(op: graph.CastOp) -> None:
    """
    Cast before a gather that only the cast reads, so that it moves fewer bytes. A cast
    may change the number that stands for elements outside, unless it is zero.
    """
    gather = op.operand.owner
    if not isinstance(gather, graph.Im2colOp) or not op.operand.has_one_use():
        return
    if itemsize_of(op.result) >= itemsize_of(gather.operand):
        return
    if gather.padding_value(0):
        return
    builder = located_rewriter_at(op)
    element = tensor_type(op.result).element_type
    cast = builder.insert(graph.CastOp(gather.operand, element))
    access = gather.delinearized_access
    moved = graph.Im2colOp(cast, gather.map.data, access.basis)
    builder.replace(op, [moved], [moved.result])
