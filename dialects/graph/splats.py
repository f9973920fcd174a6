"""Tensors of one number: telling them, and building them."""

from __future__ import annotations

import math

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.movement import BroadcastOp
from tlf.dialects.interfaces import ConstantInterface, MovementInterface, Scalar
from tlf.dialects.types import AnyTensor, scalar_value


def splat_of(value: SSAValue) -> Scalar | None:
    """The number that all elements of a value are, if it is known, moved or not."""
    owner = value.owner
    if isinstance(owner, ConstantInterface):
        splat = owner.splat()
        return None if splat is None else scalar_value(splat)
    if not isinstance(owner, MovementInterface) or len(owner.operands) != 1:
        return None
    return None if owner.border(0) is not None else splat_of(owner.operands[0])


def is_same(left: Scalar | None, right: Scalar | None) -> bool:
    """Return `True` if two numbers are known and equal, sign of zero included."""
    if left is None or right is None or left != right:
        return False
    return math.copysign(1, left) == math.copysign(1, right)


def filled(builder: Builder, number: Scalar, type_: AnyTensor) -> SSAValue:
    """A tensor of one number, whose elements are not written out."""
    scalar = ConstantOp.filled(number, TensorType(type_.element_type, []))
    if not type_.get_shape():
        return builder.insert(scalar).result
    repeated = BroadcastOp(builder.insert(scalar), type_.get_shape())
    return builder.insert(repeated).result
