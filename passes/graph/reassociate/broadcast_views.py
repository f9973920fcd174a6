"""Reshapes of values that broadcast to a tensor that is reshaped."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to


def is_axis_preserved(op: graph.ReshapeOp, axis: int) -> bool:
    """
    Return `True` if a reshape preserves an axis, counted from the last one as -1, and
    those behind.
    """
    before, after = (tensor_type(e).get_shape() for e in (op.operand, op.result))
    return min(len(before), len(after)) >= -axis and before[axis:] == after[axis:]


def can_reshape_broadcast(value: SSAValue, op: graph.ReshapeOp, axis: int) -> bool:
    """
    Return `True` if a value that broadcasts to the operand of a reshape, which keeps an
    axis, can be reshaped to broadcast to its result: it varies along all of the axes in
    front, or none.
    """
    front = _without_leading_ones(_leading_shape(value, axis))
    return not front or front == _without_leading_ones(_leading_shape(op.operand, axis))


def reshape_broadcast(
    value: SSAValue, op: graph.ReshapeOp, axis: int, builder: Builder
) -> SSAValue:
    """
    Reshape a value that broadcasts to a reshape's operand to broadcast to its result;
    casts stay behind.
    """
    front, whole = _leading_shape(value, axis), _leading_shape(op.result, axis)
    behind = tensor_type(value).get_shape()[axis:]
    if not _without_leading_ones(front):
        # Broadcasting adds axes in front, and takes none away.
        return reshape_to(value, (*front[: len(whole)], *behind), builder)
    if isinstance(cast := value.owner, graph.CastOp):
        inner = reshape_broadcast(cast.operand, op, axis, builder)
        element = tensor_type(value).element_type
        return builder.insert(graph.CastOp(inner, element)).result
    return reshape_to(value, (*whole, *behind), builder)


def _leading_shape(value: SSAValue, axis: int) -> tuple[int, ...]:
    return tensor_type(value).get_shape()[:axis]


def _without_leading_ones(front: tuple[int, ...]) -> tuple[int, ...]:
    """Extents without the axes of one element before the first of several."""
    first = next((n for n, extent in enumerate(front) if extent > 1), len(front))
    return front[first:]
