"""
IR utility of the dialects: insert and recognize tensor copies, transpositions by the
identity.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.types import tensor_type


def insert_operand_copy(user: Operation, operand_index: int) -> graph.TransposeOp:
    """Insert a copy of an operand in front of its user, and make the user read it."""
    value: SSAValue = user.operands[operand_index]
    axes = range(tensor_type(value).get_num_dims())
    copy = graph.TransposeOp(value, list(axes))
    copy.location = user.location
    copy.result.name_hint = value.name_hint
    Rewriter.insert_op(copy, InsertPoint.before(user))
    user.operands[operand_index] = copy.result
    return copy


def is_tensor_copy(op: Operation) -> bool:
    """Return `True` if an operation copies a tensor."""
    if not isinstance(op, graph.TransposeOp):
        return False
    return list(op.axis_list) == sorted(op.axis_list)
