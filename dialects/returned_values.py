"""Copies of returned values, so that every result has a buffer of its own."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.interfaces import ConstantInterface, ViewInterface
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.tensor_copies import insert_operand_copy


def copy_returned_values(block: Block) -> None:
    """
    Copy what a function returns where it is an argument or a constant, seen under
    whatever shape, part of a tensor, or returned twice. A copy is a transposition that
    permutes nothing.
    """
    returned = block.last_op
    if not isinstance(returned, func.ReturnOp):
        return
    taken = set[SSAValue]()
    for position, value in enumerate(returned.arguments):
        if not isinstance(value.type, TensorType):
            continue
        origin = _whole_tensor(value)
        if origin is not None and _is_computed(origin) and origin not in taken:
            taken.add(origin)
            continue
        insert_operand_copy(returned, position)


def _whole_tensor(value: SSAValue) -> SSAValue | None:
    """The tensor that a value is all of, if it is not part of one."""
    while isinstance(owner := value.owner, ViewInterface):
        value = owner.operands[0]
    is_part = isinstance(owner, Operation) and is_stored_slice(owner)
    return None if is_part else value


def _is_computed(value: SSAValue) -> bool:
    """
    Return `True` if an operation of the function computes a value, and no constant
    does.
    """
    owner = value.owner
    return isinstance(owner, Operation) and not isinstance(owner, ConstantInterface)
