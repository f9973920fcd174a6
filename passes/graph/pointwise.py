"""Elementwise operations without positions: their leaves, variation and rebuilding."""

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
from tlf.dialects.types import tensor_type, type_like


def is_pointwise(owner: Operation | Block) -> TypeIs[ElementwiseInterface]:
    """
    Return `True` if each element is computed from those at the same indices alone.
    """
    return isinstance(owner, ElementwiseInterface) and not isinstance(
        owner, PositionInterface
    )


def leaf_values_of(
    value: SSAValue, follows: Callable[[SSAValue], bool] = lambda _: True
) -> list[SSAValue]:
    """
    Return the leaves of the elementwise expression that computes a value. Values that
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


def rebuild_elementwise(
    op: TilingInterface,
    operands: Sequence[SSAValue],
    shape: Sequence[int],
    builder: Builder,
) -> SSAValue:
    """
    Rebuild an operation on other operands, which broadcast to a shape, and return its
    result.
    """
    type_ = tensor_type(op.results[0])
    made = op.tiled_implementation(
        operands, [type_like(type_, shape, type_.element_type)]
    )
    made.location = op.location
    return builder.insert(made).results[0]


def is_varying_along(value: SSAValue, axis: int) -> bool:
    """
    Return `True` if a value has several elements along an axis, counted from the last
    one as -1.
    """
    shape = tensor_type(value).get_shape()
    return len(shape) >= -axis and shape[axis] > 1
