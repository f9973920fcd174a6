"""
Import of ATen writes to diagonals from PyTorch: converters of FX calls, which build
operations of `graph`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import Emitter, EmptyTensor
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("diagonal_scatter.default")
def _convert_diagonal_scatter(
    emitter: Emitter,
    x: SSAValue,
    source: SSAValue | EmptyTensor,
    offset: int = 0,
    first_axis: int = 0,
    second_axis: int = 1,
) -> SSAValue:
    """Emit the selection of the source, spread over the matrix, on the diagonal."""
    if isinstance(source, EmptyTensor):
        return x
    rank = len(shape_of(x))
    first_axis, second_axis = first_axis % rank, second_axis % rank
    rows = emitter.add(_emit_index_along_axis(emitter, x, first_axis), offset, i64)
    chosen = emitter.compare(
        rows, _emit_index_along_axis(emitter, x, second_axis), "eq", i64
    )
    along, across = (
        (first_axis, second_axis) if offset >= 0 else (second_axis, first_axis)
    )
    spread = _emit_padded_diagonal(
        emitter, emitter.cast(source, emitter.result_element), x, along, across
    )
    return emitter.to_result(emitter.select(chosen, spread, x, emitter.result_element))


def _emit_index_along_axis(emitter: Emitter, x: SSAValue, axis: int) -> SSAValue:
    """Emit the index along an axis."""
    shape = [1] * len(shape_of(x))
    shape[axis] = shape_of(x)[axis]
    return emitter.reshape(emitter.emit_iota(shape[axis], i64), shape)


def _emit_padded_diagonal(
    emitter: Emitter,
    source: SSAValue,
    matrix: SSAValue,
    diagonal_axis: int,
    unit_axis: int,
) -> SSAValue:
    """
    Emit a diagonal, the last axis of the source, padded to the extent of the axis
    `diagonal_axis`.
    """
    rank, extent = len(shape_of(matrix)), shape_of(matrix)[diagonal_axis]
    before = [0] * (rank - 1)
    after = [*before[1:], extent - shape_of(source)[-1]]
    padded = emitter.pad(source, before, after)
    remaining = iter(range(rank - 2))
    result_axes = [axis for axis in range(rank) if axis != unit_axis]
    order = [
        rank - 2 if axis == diagonal_axis else next(remaining) for axis in result_axes
    ]
    shape = list(shape_of(matrix))
    shape[unit_axis] = 1
    return emitter.reshape(emitter.permute(padded, order), shape)
