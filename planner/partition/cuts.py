"""Views and cuts of what groups make, as the groups that read them have them."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.bounds.touched import is_inside
from tlf.analysis.tiling.group import misfit
from tlf.dialects import graph
from tlf.dialects.cuts import is_part, is_stored_cut
from tlf.dialects.interfaces import TilingInterface, ViewInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.partition.merged import MergedGroup, merge

SMALL = 8
"""A tensor may well stay near, whole, if so many of its size fit into the level."""


def join_cuts(block: Block, level: Level, target: Target) -> None:
    """
    Let groups without a plan cut for themselves what they read of tensors that groups
    make, where they can be tiled so: they then read the whole tensor, which may stay
    near for all that read parts of it. Of what is only seen under another shape, every
    reader gets a view of its own, which can become part of it.

    What reads around each element, or beyond the part, stays apart, unless the tensor
    is small: of less than all of it, a tile would have to be copied.
    """
    for op in reversed(list(block.ops)):
        if not shows(op) or not _is_made(op):
            continue
        for reader in _readers(op):
            if isinstance(op, ViewInterface):
                _copied(op, reader)
            elif isinstance(reader, graph.GroupOp) and reader.plan is None:
                _join(op, reader, level, target)
        if not op.results[0].uses.get_length():
            Rewriter.erase_op(op)


def is_seen(op: Operation, level: Level) -> bool:
    """
    Return `True` if an operation is a view of a stored tensor, or of a slice of it that
    groups can cut by themselves: element by element, or of a small tensor.
    """
    if isinstance(op, ViewInterface):
        return True
    if not shows(op):
        return False
    return _is_small(op, level) or all(map(_is_read_inside, op.results[0].uses))


def _is_small(op: Operation, level: Level) -> bool:
    """Return `True` if several tensors of the size of the operand fit into a level."""
    return byte_count(tensor_type(op.operands[0])) * SMALL <= level.capacity


def shows(op: Operation) -> bool:
    """
    Return `True` if an operation is a view of a stored tensor, or of a slice of it.
    """
    return isinstance(op, ViewInterface) or (is_part(op) and is_stored_cut(op))


def _is_read_inside(use: Use) -> bool:
    """
    Return `True` if a group reads no element of an operand twice, and none outside of
    it.
    """
    group = use.operation
    if not isinstance(group, graph.GroupOp):
        return False
    return all(
        isinstance(inner.operation, TilingInterface)
        and _is_by_element(inner.operation, inner.index)
        for inner in group.body.block.args[use.index].uses
    )


def _is_by_element(op: TilingInterface, operand: int) -> bool:
    extents = [iterator.extent for iterator in op.iterators()]
    shape = tensor_type(op.operands[operand]).get_shape()
    return all(
        access.width == 1
        and is_inside(access, extents, extent)
        and sum(extents[iterator] > 1 for iterator, _ in access.terms) <= 1
        for access, extent in zip(
            op.operand_accesses()[operand] or (), shape, strict=True
        )
    )


def _is_made(op: Operation) -> bool:
    """Return `True` if a group computes the tensor that is viewed."""
    while shows(op):
        owner = op.operands[0].owner
        if isinstance(owner, Block):
            return False
        op = owner
    return isinstance(op, graph.GroupOp)


def _readers(op: Operation) -> list[Operation]:
    return list(dict.fromkeys(use.operation for use in op.results[0].uses))


def _copied(op: Operation, reader: Operation) -> Operation:
    """A copy of an operation for one of its readers."""
    copy = op.clone()
    copy.results[0].name_hint = op.results[0].name_hint
    Rewriter.insert_op(copy, InsertPoint.after(op))
    op.results[0].replace_uses_with_if(
        copy.results[0], lambda use: use.operation is reader
    )
    return copy


def _join(cut: Operation, reader: graph.GroupOp, level: Level, target: Target) -> None:
    """Let a group cut its input itself, unless it needs more of it, or has no tiles."""
    uses = (use for use in cut.results[0].uses if use.operation is reader)
    if not _is_small(cut, level) and not all(map(_is_read_inside, uses)):
        return
    if misfit(MergedGroup((cut, reader)).members, level, target) is None:
        merge((_copied(cut, reader), reader))
