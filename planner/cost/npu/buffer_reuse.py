"""
Cost model of NPU buffers: operands whose buffers the result of an operation may reuse,
whatever its tiles.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects import tile
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ElementwiseInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_unit_stride_slice
from tlf.dialects.types import tensor_type


class BufferReuse(NamedTuple):
    """Operands whose buffers the result of an operation may be stored in."""

    viewed_operand: SSAValue | None
    """Operand of a view or slice, whose buffer has the result in any case."""
    operands: tuple[SSAValue, ...]
    """Operands of the result's element type whose buffers an operation may reuse."""


def buffer_reuse_of(op: Operation, group: Container[object]) -> BufferReuse:
    """
    Return the operands whose buffers an operation may reuse. `group` are the operations
    of its group; a view of an input of the group has a buffer of its own.
    """
    if is_unit_stride_slice(op):
        return BufferReuse(op.operands[0], ())
    if isinstance(op, ViewInterface):
        operand = op.operands[0]
        return BufferReuse(operand if operand.owner in group else None, ())
    if not (operands := _operands_with_reusable_buffers(op)):
        return BufferReuse(None, ())
    element = tensor_type(op.results[0]).element_type
    same = [
        each
        for each in operands
        if isinstance(each.type, TensorType)
        and tensor_type(each).element_type == element
    ]
    return BufferReuse(None, tuple(same))


def _operands_with_reusable_buffers(op: Operation) -> Sequence[SSAValue]:
    """Return the operands whose buffers the result of an operation may reuse."""
    match op:
        case ElementwiseInterface() | tile.MaskOp():
            return op.operands
        case AccumulatingInterface():
            return () if op.init_value is None else (op.init_value,)
        case _:
            return ()
