"""
Helper of the rewrite that distributes sums: legality and building of reshapes of values
that broadcast to the operand of a reshape.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to


def is_axis_preserved(op: graph.ReshapeOp, axis: int) -> bool:
    """
    Return `True` if a reshape preserves an axis, given as a negative index, and all
    axes after it.
    """
    before, after = (tensor_type(e).get_shape() for e in (op.operand, op.result))
    return min(len(before), len(after)) >= -axis and before[axis:] == after[axis:]


def can_reshape_broadcast(value: SSAValue, op: graph.ReshapeOp, axis: int) -> bool:
    """
    Return `True` if a value that broadcasts to the operand of a reshape can be reshaped
    to broadcast to its result: the value varies along all axes before the preserved
    axis, or along none of them.
    """
    front = _drop_leading_unit_extents(_shape_before_axis(value, axis))
    return not front or front == _drop_leading_unit_extents(
        _shape_before_axis(op.operand, axis)
    )


def reshape_broadcast_like(
    value: SSAValue, op: graph.ReshapeOp, axis: int, builder: Builder
) -> SSAValue:
    """
    Reshape a value that broadcasts to a reshape's operand to broadcast to its result. A
    cast is applied after the reshape.
    """
    front, result_front = (
        _shape_before_axis(value, axis),
        _shape_before_axis(op.result, axis),
    )
    trailing = tensor_type(value).get_shape()[axis:]
    if not _drop_leading_unit_extents(front):
        # Broadcasting adds leading axes, but does not remove any.
        return reshape_to(value, (*front[: len(result_front)], *trailing), builder)
    if isinstance(cast := value.owner, graph.CastOp):
        inner = reshape_broadcast_like(cast.operand, op, axis, builder)
        element = tensor_type(value).element_type
        return builder.insert(graph.CastOp(inner, element)).result
    return reshape_to(value, (*result_front, *trailing), builder)


def _shape_before_axis(value: SSAValue, axis: int) -> tuple[int, ...]:
    return tensor_type(value).get_shape()[:axis]


def _drop_leading_unit_extents(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the extents without leading unit extents."""
    first = next((n for n, extent in enumerate(extents) if extent > 1), len(extents))
    return extents[first:]
