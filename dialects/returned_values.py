"""Give every result of a function a tensor of its own."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.cuts import is_stored_cut
from tlf.dialects.identity import copy_for
from tlf.dialects.interfaces import ConstantInterface, ViewInterface


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
        origin = _origin(value)
        if origin is not None and _is_fresh(origin) and origin not in taken:
            taken.add(origin)
            continue
        copy_for(returned, position)


def _origin(value: SSAValue) -> SSAValue | None:
    """The tensor that a value is all of, if it is not part of one."""
    while isinstance(owner := value.owner, ViewInterface):
        value = owner.operands[0]
    is_part = isinstance(owner, Operation) and is_stored_cut(owner)
    return None if is_part else value


def _is_fresh(value: SSAValue) -> bool:
    """
    Return `True` if an operation of the function computes a value, and no constant
    does.
    """
    owner = value.owner
    return isinstance(owner, Operation) and not isinstance(owner, ConstantInterface)
