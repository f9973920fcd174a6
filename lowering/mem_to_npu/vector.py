"""
Elementwise work on the vector engine: map, fill and mask.
"""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.interpreters.scalars import evaluate
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.scalars import constant, vector_operation
from tlf.lowering.mem_to_npu.views import View, Views, index_builder
from tlf.lowering.mem_to_npu.walk import Dim, fit, nest, operand, simplify, stripped


def convert_map(op: mem.MapOp, views: Views) -> None:
    """
    Replace a map of one scalar operation by vector instructions.
    """
    bodies = [each for each in op.body.block.ops if not _is_structure(each)]
    terminator = op.body.block.last_op
    assert isinstance(terminator, mem.YieldOp)
    if len(bodies) > 1 or (bodies and len(op.outputs) > 1):
        raise PassFailedException(
            f"mem.map: expected a body of one operation, got {len(bodies)}: run "
            "`mem-split-maps` first"
        )
    for number, (value, output) in enumerate(
        zip(terminator.values, op.outputs, strict=True)
    ):
        if not op.inputs:
            _emit(op, "fill", views, output, [_known(op, number)])
            continue
        name, operands = "copy", (value,)
        if bodies and value.owner is bodies[0]:
            name, operands = vector_operation(bodies[0])
        inputs = [_input(op, each) for each in operands]
        if name == "copy" and not isinstance(inputs[0], tuple):
            name = "fill"
        _emit(op, name, views, output, inputs)


def _known(op: mem.MapOp, output: int) -> float:
    """The value of an output that a body without inputs computes."""
    value = evaluate(op.body.block, ())[output]
    return int(value) if value.dtype.kind in "bi" else float(value)


def _is_structure(op: Operation) -> bool:
    return isinstance(op, arith.ConstantOp | mem.YieldOp)


def _input(op: mem.MapOp, value: SSAValue) -> tuple[SSAValue, AffineMap] | float:
    """The buffer that a scalar is an element of, or the number that it is."""
    if isinstance(value, BlockArgument):
        return op.inputs[value.index], op.input_maps[value.index]
    if (number := constant(value)) is None:
        raise PassFailedException("mem.map: expected an element or a constant")
    return number


def _emit(
    op: mem.MapOp,
    name: str,
    views: Views,
    output: SSAValue,
    inputs: Sequence[tuple[SSAValue, AffineMap] | float],
) -> None:
    identity = AffineMap.identity(len(op.extents))
    placed = [operand(views.view(output), identity)]
    placed += [
        operand(views.view(each[0]), each[1])
        for each in inputs
        if isinstance(each, tuple)
    ]
    dims = simplify(
        [
            Dim(extent, tuple(strides[number] for _, strides in placed))
            for number, extent in enumerate(op.extents)
        ]
    )
    outer, inner = fit(dims, npu.MAX_VECTOR_RANK)
    index, moved, _ = nest(op, [view for view, _ in placed], outer)
    accesses = [
        view.access(index, stripped(inner, number)) for number, view in enumerate(moved)
    ]
    remaining = iter(accesses[1:])
    arguments = [
        next(remaining) if isinstance(each, tuple) else each for each in inputs
    ]
    shape = [dim.extent for dim in inner]
    index.builder.insert(npu.VectorOp(name, accesses[0], arguments, shape))


def convert_fill(op: mem.FillOp, views: Views) -> None:
    """
    Replace a fill by vector instructions.
    """
    assert op.destination is not None
    view = views.view(op.destination)
    _fill(op, view, view.shape, op.number)


def convert_mask(op: mem.MaskOp, views: Views) -> None:
    """
    Replace a mask by fills of the boxes that lie outside the bounds.
    """
    view = views.view(op.source)
    index = index_builder(op)
    for dimension, (offset, bound, valid) in enumerate(
        zip(op.mixed_offsets, op.limits, op.extents, strict=True)
    ):
        size = view.shape[dimension]
        below = index.min(size, index.max(0, index.sub(0, offset)))
        above = index.max(0, index.min(valid, index.sub(bound, offset)))
        origin: list[Index] = [0] * len(view.shape)
        for start, extent in ((0, below), (above, index.sub(size, above))):
            if extent == 0:
                continue
            origin[dimension] = start
            shape: list[Index] = list(view.shape)
            shape[dimension] = extent
            _fill(op, view.moved(origin), shape, op.number)


def _fill(op: Operation, view: View, shape: Sequence[Index], value: float) -> None:
    dynamic = next(
        (n for n, size in enumerate(shape) if isinstance(size, SSAValue)), None
    )
    dims = [
        Dim(size if isinstance(size, int) else -1, (stride,), role=str(n == dynamic))
        for n, (size, stride) in enumerate(zip(shape, view.strides, strict=True))
    ]
    dims = simplify(dims)
    outer, inner = fit(dims, npu.MAX_VECTOR_RANK)
    if any(dim.extent < 0 for dim in outer):
        # The dynamic dimension goes to the instruction.
        moved = next(dim for dim in outer if dim.extent < 0)
        outer = [dim for dim in outer if dim is not moved] + inner[:1]
        inner = [moved, *inner[1:]]
    index, (moved_view,), _ = nest(op, [view], outer)
    sizes: list[Index] = [
        dim.extent if dim.extent >= 0 or dynamic is None else shape[dynamic]
        for dim in inner
    ]
    access = moved_view.access(index, stripped(inner, 0))
    index.builder.insert(npu.VectorOp("fill", access, [value], sizes))
