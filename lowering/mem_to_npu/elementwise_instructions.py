"""Lowering of maps, fills and masks to vector engine instructions of the NPU."""

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.map_operations import scalar_operations_of_map
from tlf.dialects import mem, npu
from tlf.dialects.interpreters.scalar_functions import evaluate_body_results
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.instruction_dims import (
    InstructionDim,
    build_loops_over_dims,
    merge_contiguous_dims,
    split_loop_and_instruction_dims,
    strides_of_operand,
    view_and_domain_strides_of,
)
from tlf.lowering.mem_to_npu.memref_views import (
    BufferView,
    BufferViews,
    index_builder_before,
)
from tlf.lowering.mem_to_npu.vector_opcodes import (
    scalar_constant_of,
    select_vector_opcode,
)


def convert_map_to_vector_instructions(op: mem.MapOp, views: BufferViews) -> None:
    """
    Insert the vector instruction of each output before a `mem.map` of at most one
    operation; the map remains.
    """
    bodies = scalar_operations_of_map(op)
    terminator = op.body.block.last_op
    assert isinstance(terminator, mem.YieldOp)
    if len(bodies) > 1 or (bodies and len(op.outputs) > 1):
        raise PassFailedException(
            f"mem.map: expected a body of one operation, got {len(bodies)}: run "
            "`mem-split-maps` first"
        )
    for index, (value, output) in enumerate(
        zip(terminator.values, op.outputs, strict=True)
    ):
        if not op.inputs:
            _build_vector_instruction(
                op, "fill", views, output, [_constant_value_of_output(op, index)]
            )
            continue
        name, operands = "copy", (value,)
        if bodies and value.owner is bodies[0]:
            name, operands = select_vector_opcode(bodies[0])
        inputs = [_resolve_scalar_source(op, each) for each in operands]
        if name == "copy" and not isinstance(inputs[0], tuple):
            name = "fill"
        _build_vector_instruction(op, name, views, output, inputs)


def _constant_value_of_output(op: mem.MapOp, output_index: int) -> float:
    """Return the constant that a body without inputs computes for an output."""
    value = evaluate_body_results(op.body.block, ())[output_index]
    return int(value) if value.dtype.kind in "bi" else float(value)


def _resolve_scalar_source(
    op: mem.MapOp, value: SSAValue
) -> tuple[SSAValue, AffineMap] | float:
    """Return the buffer and map that a scalar is read from, or its constant value."""
    if isinstance(value, BlockArgument):
        return op.inputs[value.index], op.input_maps[value.index]
    if (constant := scalar_constant_of(value)) is None:
        raise PassFailedException("mem.map: expected an element or a constant")
    return constant


def _build_vector_instruction(
    op: mem.MapOp,
    opcode: str,
    views: BufferViews,
    output: SSAValue,
    inputs: Sequence[tuple[SSAValue, AffineMap] | float],
) -> None:
    """Build loops and a vector instruction that computes `output` over the domain."""
    identity = AffineMap.identity(len(op.domain_extents))
    views_and_strides = [view_and_domain_strides_of(views.view_of(output), identity)]
    views_and_strides += [
        view_and_domain_strides_of(views.view_of(each[0]), each[1])
        for each in inputs
        if isinstance(each, tuple)
    ]
    dims = merge_contiguous_dims(
        [
            InstructionDim(
                extent, tuple(strides[number] for _, strides in views_and_strides)
            )
            for number, extent in enumerate(op.domain_extents)
        ]
    )
    outer, inner = split_loop_and_instruction_dims(dims, npu.MAX_VECTOR_RANK)
    index, iteration_views, _ = build_loops_over_dims(
        op, [view for view, _ in views_and_strides], outer
    )
    accesses = [
        view.build_access(index, strides_of_operand(inner, number))
        for number, view in enumerate(iteration_views)
    ]
    remaining = iter(accesses[1:])
    arguments = [
        next(remaining) if isinstance(each, tuple) else each for each in inputs
    ]
    shape = [dim.extent for dim in inner]
    index.builder.insert(npu.VectorOp(opcode, accesses[0], arguments, shape))


def convert_fill_to_vector_instructions(op: mem.FillOp, views: BufferViews) -> None:
    """Lower a fill to vector instructions."""
    assert op.destination is not None
    view = views.view_of(op.destination)
    _build_fill_instruction(op, view, view.shape, op.fill_value)


def convert_mask_to_fills(op: mem.MaskOp, views: BufferViews) -> None:
    """
    Insert vector fills of the boxes outside the bounds before a `mem.mask`, which
    remains.
    """
    view = views.view_of(op.source)
    index = index_builder_before(op)
    for dimension, (offset, bound, valid) in enumerate(
        zip(op.mixed_offsets, op.upper_bounds, op.valid_box_extents, strict=True)
    ):
        size = view.shape[dimension]
        below = index.build_min(size, index.build_max(0, index.build_sub(0, offset)))
        above = index.build_max(
            0, index.build_min(valid, index.build_sub(bound, offset))
        )
        origin: list[Index] = [0] * len(view.shape)
        for start, extent in ((0, below), (above, index.build_sub(size, above))):
            if extent == 0:
                continue
            origin[dimension] = start
            shape: list[Index] = list(view.shape)
            shape[dimension] = extent
            _build_fill_instruction(
                op, view.view_from_element(origin), shape, op.fill_value
            )


def _build_fill_instruction(
    op: Operation, view: BufferView, shape: Sequence[Index], value: float
) -> None:
    """Build loops and a vector `fill` of `shape` elements of `view`, before `op`."""
    dynamic = next(
        (n for n, size in enumerate(shape) if isinstance(size, SSAValue)), None
    )
    dims = [
        InstructionDim(
            size if isinstance(size, int) else -1, (stride,), role=str(n == dynamic)
        )
        for n, (size, stride) in enumerate(zip(shape, view.strides, strict=True))
    ]
    dims = merge_contiguous_dims(dims)
    outer, inner = split_loop_and_instruction_dims(dims, npu.MAX_VECTOR_RANK)
    if any(dim.extent < 0 for dim in outer):
        # The instruction iterates over the dynamic dim.
        dynamic_dim = next(dim for dim in outer if dim.extent < 0)
        outer = [dim for dim in outer if dim is not dynamic_dim] + inner[:1]
        inner = [dynamic_dim, *inner[1:]]
    index, (iteration_view,), _ = build_loops_over_dims(op, [view], outer)
    sizes: list[Index] = [
        dim.extent if dim.extent >= 0 or dynamic is None else shape[dynamic]
        for dim in inner
    ]
    access = iteration_view.build_access(index, strides_of_operand(inner, 0))
    index.builder.insert(npu.VectorOp("fill", access, [value], sizes))
