"""Operations that compute elements of those at the same place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing_extensions import TypeIs
from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.interfaces import (
    ElementwiseInterface,
    PositionInterface,
    TilingInterface,
)
from tlf.dialects.types import like, tensor_type


def is_pointwise(owner: Operation | Block) -> TypeIs[ElementwiseInterface]:
    """
    Return `True` if each element is computed from those at the same indices alone.
    """
    return isinstance(owner, ElementwiseInterface) and not isinstance(
        owner, PositionInterface
    )


def leaves(
    value: SSAValue, follows: Callable[[SSAValue], bool] = lambda _: True
) -> list[SSAValue]:
    """
    Return the values that elementwise operations compute a value from. Values that
    `follows` rejects are left out, with those that they are computed from.
    """
    pending, seen = [value], dict[SSAValue, None]()
    while pending:
        each = pending.pop()
        if each in seen or not follows(each):
            continue
        seen[each] = None
        pending += each.owner.operands if is_pointwise(each.owner) else ()
    return [each for each in seen if not is_pointwise(each.owner)]


def computed(
    op: TilingInterface,
    operands: Sequence[SSAValue],
    shape: Sequence[int],
    builder: Builder,
) -> SSAValue:
    """
    Build an operation on other operands, which broadcast to a shape, and return its
    result.
    """
    type_ = tensor_type(op.results[0])
    made = op.tiled(operands, [like(type_, shape, type_.element_type)])
    made.location = op.location
    return builder.insert(made).results[0]


def varies_along(value: SSAValue, axis: int) -> bool:
    """
    Return `True` if a value has several elements along an axis, counted from the last
    one as -1.
    """
    shape = tensor_type(value).get_shape()
    return len(shape) >= -axis and shape[axis] > 1
