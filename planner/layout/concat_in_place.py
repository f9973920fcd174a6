"""Planning of concats: tensors that can be computed in place in the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph, tile
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    ConstantInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import (
    is_axis_merge,
    is_axis_split,
    is_strided_slice,
)

GIVEN = "no operation here computes it"
TAKEN = "it is already part of another tensor"
RETURNED = "it is returned"
VIEW = "it is a view of another tensor"
VIEWED = "it has views"


class CopiedOperand(NamedTuple):
    """Concat operand that cannot be computed in place, with the reason."""

    op: ConcatLikeInterface
    operand_index: int
    reason: str


def copied_concat_operands(block: Block) -> Iterator[CopiedOperand]:
    """
    Yield the concat operands of a block that cannot be computed in place: values that
    no operation of the block computes or loads, operands of an earlier concatenation,
    returned values, and values with views that do more than split axes.
    """
    placed = set[SSAValue]()
    for op in block.ops:
        if not isinstance(op, ConcatLikeInterface):
            continue
        for index, value in enumerate(op.operands):
            reason = TAKEN if value in placed else in_place_objection(value, block)
            if reason == VIEWED and _has_only_axis_splits(value):
                reason = None
            if reason is not None:
                yield CopiedOperand(op, index, reason)
            placed.add(value)


def in_place_objection(value: SSAValue, block: Block) -> str | None:
    """
    Return the reason why a value cannot be computed in place in the result of a
    concatenation, or None if it can.
    """
    owner, users = _producer_and_users_of(value)
    if (
        isinstance(owner, Block)
        or owner.parent is not block
        or not _has_new_result_buffer(owner)
    ):
        return VIEW if isinstance(owner, Operation) and _is_view(owner) else GIVEN
    if any(map(_returns, users)):
        return RETURNED
    return VIEWED if any(map(_is_view, users)) else None


def _producer_and_users_of(
    value: SSAValue,
) -> tuple[Operation | Block, list[Operation]]:
    """
    Return the owner of a value, or of the operand whose axes it merges, and the users
    of both.
    """
    users = [use.operation for use in value.uses]
    owner = value.owner
    if not isinstance(owner, Operation) or not is_axis_merge(owner):
        return owner, users
    (operand,) = owner.operands
    users += [use.operation for use in operand.uses if use.operation is not owner]
    return operand.owner, users


def _has_only_axis_splits(value: SSAValue) -> bool:
    """Return `True` if all views of a value only split axes, and none is returned."""
    _, users = _producer_and_users_of(value)
    return all(_only_splits_axes(user) for user in users if _is_view(user))


def _only_splits_axes(view: Operation) -> bool:
    """Return `True` if a view and its views only split axes, and none is returned."""
    users = [use.operation for use in view.results[0].uses]
    return is_axis_split(view) and all(
        _only_splits_axes(user) if _is_view(user) else not _returns(user)
        for user in users
    )


def _returns(op: Operation) -> bool:
    """Return `True` if an operation returns its operands."""
    return isinstance(op, func.ReturnOp)


def _has_new_result_buffer(op: Operation) -> bool:
    """Return `True` if an operation writes its result to a new buffer."""
    if isinstance(op, ConstantInterface) or _is_view(op):
        return False
    return isinstance(op, graph.GroupOp | TilingInterface | tile.SliceOp)


def _is_view(op: Operation) -> bool:
    """Return `True` if the result of an operation is a view of its operand."""
    if isinstance(op, tile.SliceOp):
        return tile.level_of(op.source.type) == tile.level_of(op.result.type)
    return isinstance(op, ViewInterface) or is_strided_slice(op)
