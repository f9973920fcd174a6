"""
Reductions on the vector engine.
"""

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.accumulate import accumulates
from tlf.lowering.mem_to_npu.scalars import CASTS, REDUCE, widens
from tlf.lowering.mem_to_npu.views import Views
from tlf.lowering.mem_to_npu.walk import Dim, fit, nest, operand, simplify, stripped


def convert_reduce(op: mem.ReduceOp, views: Views) -> None:
    """
    Replace a reduction by one instruction per output.
    """
    for number, combine in enumerate(op.combines):
        _emit(op, number, _element(op, number, combine), REDUCE[type(combine)], views)


def _element(op: mem.ReduceOp, number: int, combine: Operation) -> int:
    """The input that a combine takes its elements from."""
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
    if not widens(source.type, accumulator.type):
        raise PassFailedException(
            f"mem.reduce: the npu cannot accumulate {source.type} in {accumulator.type}"
        )
    return source.index


def _emit(
    op: mem.ReduceOp, output: int, source: int, operation: str, views: Views
) -> None:
    kept = op.output_maps[output].used_dims()
    placed = [
        operand(views.view(op.outputs[output]), op.output_maps[output]),
        operand(views.view(op.inputs[source]), op.input_maps[source]),
    ]
    dims = simplify(
        [
            Dim(
                extent,
                tuple(strides[dimension] for _, strides in placed),
                "kept" if dimension in kept else "reduced",
            )
            for dimension, extent in enumerate(op.extents)
        ]
    )
    outer, inner = fit(dims, npu.MAX_VECTOR_RANK)
    index, moved, counters = nest(op, [view for view, _ in placed], outer)
    destination, origin = (
        view.access(index, stripped(inner, number)) for number, view in enumerate(moved)
    )
    shape = [dim.extent for dim in inner]
    axes = [number for number, dim in enumerate(inner) if dim.role == "reduced"]
    reduced = [
        counter
        for counter, dim in zip(counters, outer, strict=True)
        if dim.role == "reduced"
    ]
    accumulate = accumulates(op, index, reduced)
    index.builder.insert(
        npu.ReduceOp(operation, destination, origin, shape, axes, accumulate)
    )
