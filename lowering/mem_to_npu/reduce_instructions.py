"""Lowering of reductions to vector engine instructions of the NPU."""

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.accumulation_condition import build_accumulation_condition
from tlf.lowering.mem_to_npu.instruction_dims import (
    InstructionDim,
    build_loops_over_dims,
    merge_contiguous_dims,
    split_loop_and_instruction_dims,
    strides_of_operand,
    view_and_domain_strides_of,
)
from tlf.lowering.mem_to_npu.memref_views import BufferViews
from tlf.lowering.mem_to_npu.vector_opcodes import (
    CASTS,
    REDUCE_OPCODES,
    can_accumulate_in,
)


def convert_reduction_to_instructions(op: mem.ReduceOp, views: BufferViews) -> None:
    """Insert one `npu.reduce` per output before a `mem.reduce`, which remains."""
    for number, combine in enumerate(op.combiners):
        _build_reduce_instruction(
            op,
            number,
            _index_of_reduced_input(op, number, combine),
            REDUCE_OPCODES[type(combine)],
            views,
        )


def _index_of_reduced_input(
    op: mem.ReduceOp, output_index: int, combiner: Operation
) -> int:
    """
    Return the index of the input whose elements `combiner` accumulates; raises
    `PassFailedException` for a computed value.
    """
    accumulator = op.body.block.args[len(op.inputs) + output_index]
    element: SSAValue = next(v for v in combiner.operands if v is not accumulator)
    source = element
    if isinstance(element.owner, CASTS):
        source = element.owner.operands[0]
    if not isinstance(source, BlockArgument) or source.index >= len(op.inputs):
        raise PassFailedException(
            f"mem.reduce: expected to combine elements of an input by {combiner.name}, "
            "got a computed value: map first"
        )
    if not can_accumulate_in(source.type, accumulator.type):
        raise PassFailedException(
            f"mem.reduce: the npu cannot accumulate {source.type} in {accumulator.type}"
        )
    return source.index


def _build_reduce_instruction(
    op: mem.ReduceOp,
    output_index: int,
    input_index: int,
    opcode: str,
    views: BufferViews,
) -> None:
    """Build loops and a reduce instruction for one output, before `op`."""
    views_and_strides = [
        view_and_domain_strides_of(
            views.view_of(op.outputs[output_index]), op.output_maps[output_index]
        ),
        view_and_domain_strides_of(
            views.view_of(op.inputs[input_index]), op.input_maps[input_index]
        ),
    ]
    dims = _merge_dims_of_same_role(
        op, output_index, [strides for _, strides in views_and_strides]
    )
    outer, inner = split_loop_and_instruction_dims(dims, npu.MAX_VECTOR_RANK)
    index, iteration_views, counters = build_loops_over_dims(
        op, [view for view, _ in views_and_strides], outer
    )
    destination, origin = (
        view.build_access(index, strides_of_operand(inner, number))
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
        npu.ReduceOp(opcode, destination, origin, shape, axes, accumulate)
    )


def _merge_dims_of_same_role(
    op: mem.ReduceOp, output_index: int, operand_strides: Sequence[tuple[int, ...]]
) -> list[InstructionDim]:
    """Return the dims of an output's domain, contiguous ones merged."""
    output_dims = op.output_maps[output_index].used_dims()
    return merge_contiguous_dims(
        [
            InstructionDim(
                extent,
                tuple(strides[dimension] for strides in operand_strides),
                "kept" if dimension in output_dims else "reduced",
            )
            for dimension, extent in enumerate(op.domain_extents)
        ]
    )
