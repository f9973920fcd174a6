"""Operations that compute elements of those at the same place."""

from __future__ import annotations

from typing_extensions import TypeIs
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.interfaces import ElementwiseInterface, PositionInterface
from tlf.dialects.types import tensor_type


def is_pointwise(owner: Operation | Block) -> TypeIs[ElementwiseInterface]:
    """Whether elements are computed of those at the same place alone."""
    return isinstance(owner, ElementwiseInterface) and not isinstance(
        owner, PositionInterface
    )


def varies_along(value: SSAValue, axis: int) -> bool:
    """Whether elements differ along an axis, counted from the last one as -1."""
    shape = tensor_type(value).get_shape()
    return len(shape) >= -axis and shape[axis] > 1
