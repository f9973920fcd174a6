"""Reshapes of values that broadcast to a reshaped tensor."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped


def keeps_axis(op: graph.ReshapeOp, axis: int) -> bool:
    """Return `True` if a reshape keeps an axis, counted from the last one as -1."""
    before, after = (tensor_type(e).get_shape() for e in (op.operand, op.result))
    return min(len(before), len(after)) >= -axis and before[axis:] == after[axis:]


def is_seen(value: SSAValue, op: graph.ReshapeOp, axis: int) -> bool:
    """
    Return `True` if a value that broadcasts to the operand of a reshape, which keeps an
    axis, can be reshaped to broadcast to its result: it varies along all of the axes in
    front, or none.
    """
    front = _long(_front(value, axis))
    return not front or front == _long(_front(op.operand, axis))


def seen(value: SSAValue, op: graph.ReshapeOp, axis: int, builder: Builder) -> SSAValue:
    """It under that shape; what is cast is so afterwards."""
    front, whole = _front(value, axis), _front(op.result, axis)
    behind = tensor_type(value).get_shape()[axis:]
    if not _long(front):
        # Broadcasting adds axes in front, and takes none away.
        return reshaped(value, (*front[: len(whole)], *behind), builder)
    if isinstance(cast := value.owner, graph.CastOp):
        inner = seen(cast.operand, op, axis, builder)
        element = tensor_type(value).element_type
        return builder.insert(graph.CastOp(inner, element)).result
    return reshaped(value, (*whole, *behind), builder)


def _front(value: SSAValue, axis: int) -> tuple[int, ...]:
    return tensor_type(value).get_shape()[:axis]


def _long(front: tuple[int, ...]) -> tuple[int, ...]:
    """Extents without the axes of one element before the first of several."""
    first = next((n for n, extent in enumerate(front) if extent > 1), len(front))
    return front[first:]
