"""
IR utility of the dialects: insert copies of returned values, so that every result has
its own buffer.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.interfaces import ConstantInterface, ViewInterface
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.tensor_copies import insert_operand_copy


def copy_returned_values(block: Block) -> None:
    """
    Copy returned values that are arguments or constants, possibly through views, slices
    of a tensor, or returned twice. A copy is a transposition with the identity
    permutation.
    """
    returned = block.last_op
    if not isinstance(returned, func.ReturnOp):
        return
    returned_origins = set[SSAValue]()
    for position, value in enumerate(returned.arguments):
        if not isinstance(value.type, TensorType):
            continue
        origin = _find_fully_viewed_tensor(value)
        if (
            origin is not None
            and _is_computed_value(origin)
            and origin not in returned_origins
        ):
            returned_origins.add(origin)
            continue
        insert_operand_copy(returned, position)


def _find_fully_viewed_tensor(value: SSAValue) -> SSAValue | None:
    """
    Return the tensor that a value views in full; `None` if the value is a slice of a
    tensor.
    """
    while isinstance(owner := value.owner, ViewInterface):
        value = owner.operands[0]
    is_part = isinstance(owner, Operation) and is_stored_slice(owner)
    return None if is_part else value


def _is_computed_value(value: SSAValue) -> bool:
    """
    Return `True` if an operation of the function, other than a constant, computes a
    value.
    """
    owner = value.owner
    return isinstance(owner, Operation) and not isinstance(owner, ConstantInterface)
