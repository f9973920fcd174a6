"""Lowering of reductions to vector engine instructions of the NPU."""

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.accumulation_mode import build_accumulation_condition
from tlf.lowering.mem_to_npu.instruction_dims import (
    InstructionDim,
    build_loop_nest,
    merge_dims,
    operand_strides,
    operand_view,
    split_dims,
)
from tlf.lowering.mem_to_npu.memref_views import BufferViews
from tlf.lowering.mem_to_npu.vector_opcodes import (
    CASTS,
    REDUCE_OPCODES,
    can_accumulate_in,
)


def convert_reduce(op: mem.ReduceOp, views: BufferViews) -> None:
    """Lower a reduction to one instruction per output."""
    for number, combine in enumerate(op.combiners):
        _emit_reduce(
            op,
            number,
            _reduced_input(op, number, combine),
            REDUCE_OPCODES[type(combine)],
            views,
        )


def _reduced_input(op: mem.ReduceOp, number: int, combine: Operation) -> int:
    """Return the index of the input that a combiner reduces."""
    accumulator = op.body.block.args[len(op.inputs) + number]
    element: SSAValue = next(v for v in combine.operands if v is not accumulator)
    source = element
    if isinstance(element.owner, CASTS):
        source = element.owner.operands[0]
    if not isinstance(source, BlockArgument) or source.index >= len(op.inputs):
        raise PassFailedException(
            f"mem.reduce: expected to combine elements of an input by {combine.name}, "
            "got a computed value: map first"
        )
    if not can_accumulate_in(source.type, accumulator.type):
        raise PassFailedException(
            f"mem.reduce: the npu cannot accumulate {source.type} in {accumulator.type}"
        )
    return source.index


def _emit_reduce(
    op: mem.ReduceOp, output: int, source: int, operation: str, views: BufferViews
) -> None:
    output_dims = op.output_maps[output].used_dims()
    views_and_strides = [
        operand_view(views.view_of(op.outputs[output]), op.output_maps[output]),
        operand_view(views.view_of(op.inputs[source]), op.input_maps[source]),
    ]
    dims = merge_dims(
        [
            InstructionDim(
                extent,
                tuple(strides[dimension] for _, strides in views_and_strides),
                "kept" if dimension in output_dims else "reduced",
            )
            for dimension, extent in enumerate(op.extents)
        ]
    )
    outer, inner = split_dims(dims, npu.MAX_VECTOR_RANK)
    index, iteration_views, counters = build_loop_nest(
        op, [view for view, _ in views_and_strides], outer
    )
    destination, origin = (
        view.to_access(index, operand_strides(inner, number))
        for number, view in enumerate(iteration_views)
    )
    shape = [dim.extent for dim in inner]
    axes = [number for number, dim in enumerate(inner) if dim.role == "reduced"]
    reduction_counters = [
        counter
        for counter, dim in zip(counters, outer, strict=True)
        if dim.role == "reduced"
    ]
    accumulate = build_accumulation_condition(op, index, reduction_counters)
    index.builder.insert(
        npu.ReduceOp(operation, destination, origin, shape, axes, accumulate)
    )
