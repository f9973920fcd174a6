"""
IR utility of the `graph` dialect: recognize and build splat tensors, whose elements are
all equal.
"""

from __future__ import annotations

import math

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.movement import BroadcastOp
from tlf.dialects.interfaces import ConstantInterface, MovementInterface, Scalar
from tlf.dialects.types import AnyTensor, scalar_value


def splat_scalar_of(value: SSAValue) -> Scalar | None:
    """
    Return the number that all elements of a tensor equal, traced through movements to a
    constant; `None` if unknown.
    """
    owner = value.owner
    if isinstance(owner, ConstantInterface):
        splat = owner.splat_attribute()
        return None if splat is None else scalar_value(splat)
    if not isinstance(owner, MovementInterface) or len(owner.operands) != 1:
        return None
    return (
        None
        if owner.padding_value(0) is not None
        else splat_scalar_of(owner.operands[0])
    )


def is_equal_known_scalar(lhs: Scalar | None, rhs: Scalar | None) -> bool:
    """Return `True` if two numbers are known and equal, sign of zero included."""
    if lhs is None or rhs is None or lhs != rhs:
        return False
    return math.copysign(1, lhs) == math.copysign(1, rhs)


def build_splat_tensor(builder: Builder, number: Scalar, type_: AnyTensor) -> SSAValue:
    """Build a splat tensor as the broadcast of a scalar constant."""
    scalar = ConstantOp.from_splat(number, TensorType(type_.element_type, []))
    if not type_.get_shape():
        return builder.insert(scalar).result
    repeated = BroadcastOp(builder.insert(scalar), type_.get_shape())
    return builder.insert(repeated).result
