"""
Helper of passes on whole tensors: tests and rebuilding of elementwise operations that
do not depend on positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing_extensions import TypeIs
from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.interfaces import (
    ElementwiseInterface,
    PositionDependentInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type, tensor_type_like


def is_pointwise(owner: Operation | Block) -> TypeIs[ElementwiseInterface]:
    """
    Return `True` if an operation is elementwise and does not depend on positions.
    """
    return isinstance(owner, ElementwiseInterface) and not isinstance(
        owner, PositionDependentInterface
    )


def leaf_values_of(
    value: SSAValue, can_expand: Callable[[SSAValue], bool] = lambda _: True
) -> list[SSAValue]:
    """
    Return the leaves of the elementwise expression that computes a value. Values that
    `can_expand` rejects are excluded, and their operands are not visited.
    """
    pending, visited = [value], dict[SSAValue, None]()
    while pending:
        each = pending.pop()
        if each in visited or not can_expand(each):
            continue
        visited[each] = None
        pending += each.owner.operands if is_pointwise(each.owner) else ()
    return [each for each in visited if not is_pointwise(each.owner)]


def rebuild_elementwise(
    op: TilingInterface,
    operands: Sequence[SSAValue],
    shape: Sequence[int],
    builder: Builder,
) -> SSAValue:
    """
    Rebuild an operation on other operands that broadcast to `shape`, and return its
    result.
    """
    type_ = tensor_type(op.results[0])
    rebuilt = op.tiled_implementation(
        operands, [tensor_type_like(type_, shape, type_.element_type)]
    )
    rebuilt.location = op.location
    return builder.insert(rebuilt).results[0]


def is_varying_along(value: SSAValue, axis: int) -> bool:
    """
    Return `True` if a value has several elements along an axis, given as a negative
    index.
    """
    shape = tensor_type(value).get_shape()
    return len(shape) >= -axis and shape[axis] > 1
