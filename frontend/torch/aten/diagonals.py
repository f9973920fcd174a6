"""Import of ATen writes to diagonals as graph operations."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import Emitter, EmptyTensor
from tlf.frontend.torch.registry import converts


@converts("diagonal_scatter.default")
def _diagonal_scatter(
    at: Emitter,
    x: SSAValue,
    source: SSAValue | EmptyTensor,
    offset: int = 0,
    first: int = 0,
    second: int = 1,
) -> SSAValue:
    """Emit the selection of the source, spread over the matrix, on the diagonal."""
    if isinstance(source, EmptyTensor):
        return x
    rank = len(shape_of(x))
    first, second = first % rank, second % rank
    rows = at.add(_axis_index(at, x, first), offset, i64)
    chosen = at.compare(rows, _axis_index(at, x, second), "eq", i64)
    along, across = (first, second) if offset >= 0 else (second, first)
    spread = _spread_diagonal(at, at.cast(source, at.element), x, along, across)
    return at.to_result(at.select(chosen, spread, x, at.element))


def _axis_index(at: Emitter, x: SSAValue, axis: int) -> SSAValue:
    """Emit the index along an axis."""
    shape = [1] * len(shape_of(x))
    shape[axis] = shape_of(x)[axis]
    return at.reshape(at.iota(shape[axis], i64), shape)


def _spread_diagonal(
    at: Emitter, source: SSAValue, x: SSAValue, along: int, across: int
) -> SSAValue:
    """
    Emit a diagonal, the last axis of the source, padded to the extent of the axis
    `along`.
    """
    rank, extent = len(shape_of(x)), shape_of(x)[along]
    before = [0] * (rank - 1)
    after = [*before[1:], extent - shape_of(source)[-1]]
    padded = at.pad(source, before, after)
    remaining = iter(range(rank - 2))
    result_axes = [axis for axis in range(rank) if axis != across]
    order = [rank - 2 if axis == along else next(remaining) for axis in result_axes]
    shape = list(shape_of(x))
    shape[across] = 1
    return at.reshape(at.permute(padded, order), shape)
