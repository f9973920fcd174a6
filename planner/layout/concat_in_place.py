"""Tensors that can be computed in place in the result of a concat."""

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
from tlf.dialects.slice_views import is_axis_merge, is_strided_slice

GIVEN = "nothing here makes it"
TAKEN = "it has its place in another tensor"
RETURNED = "it is returned"
VIEW = "it is a view of another tensor"
VIEWED = "views show where it lies"


class CopiedOperand(NamedTuple):
    """Concat operand that cannot be computed in place, with the reason."""

    op: ConcatLikeInterface
    number: int
    reason: str


def copied_operands(block: Block) -> Iterator[CopiedOperand]:
    """
    Yield the concat operands of a block that cannot be computed in place: those that
    nothing in the block computes or loads, that are operands of another concatenation
    too, that are returned, or that are viewed under another shape.
    """
    taken = set[SSAValue]()
    for op in block.ops:
        if not isinstance(op, ConcatLikeInterface):
            continue
        for number, value in enumerate(op.operands):
            reason = TAKEN if value in taken else objection(value, block)
            if reason is not None:
                yield CopiedOperand(op, number, reason)
            taken.add(value)


def objection(value: SSAValue, block: Block) -> str | None:
    """
    Return why no operation of the block can compute a value in another place; None if
    one can.
    """
    users = [use.operation for use in value.uses]
    owner = value.owner
    if isinstance(owner, Operation) and is_axis_merge(owner):
        (value,) = owner.operands
        users += [use.operation for use in value.uses if use.operation is not owner]
        owner = value.owner
    if (
        isinstance(owner, Block)
        or owner.parent is not block
        or not _is_materialized(owner)
    ):
        return VIEW if isinstance(owner, Operation) and _is_view(owner) else GIVEN
    if any(isinstance(user, func.ReturnOp) for user in users):
        return RETURNED
    return VIEWED if any(map(_is_view, users)) else None


def _is_materialized(op: Operation) -> bool:
    """
    Return `True` if an operation writes elements to a place where they have not been
    before.
    """
    if isinstance(op, ConstantInterface) or _is_view(op):
        return False
    return isinstance(op, graph.GroupOp | TilingInterface | tile.SliceOp)


def _is_view(op: Operation) -> bool:
    """Return `True` if the result of an operation is a view of its operand."""
    if isinstance(op, tile.SliceOp):
        return tile.level_of(op.source.type) == tile.level_of(op.result.type)
    return isinstance(op, ViewInterface) or is_strided_slice(op)
