"""
Preparation of a partition: fuse views and slices of group results into groups that read
them.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.bounds.access_footprint import is_in_bounds
from tlf.analysis.tiling.group_analysis import group_objection
from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface, ViewInterface
from tlf.dialects.slice_views import is_stored_slice, is_unit_stride_slice
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.partition.merged_group import MergedGroup, merge_operations
from tlf.planner.settings.search_budgets import PARTITION


def fuse_slices(block: Block, level: Level, target: TargetSpec) -> None:
    """
    Fuse slices of group results into the groups without plans that read them. Every
    reader of a view gets its own copy of it, which can become part of the reader's
    group.

    Readers that access an element several times, or access elements out of bounds, stay
    separate unless the tensor is small: with a slice as input, their tiles would have
    to be copied.
    """
    for op in reversed(list(block.ops)):
        if not is_view_or_slice(op) or not _is_group_result(op):
            continue
        for reader in _reader_groups(op):
            if isinstance(op, ViewInterface):
                _copy_for_reader(op, reader)
            elif isinstance(reader, graph.GroupOp) and reader.plan is None:
                _fuse_slice(op, reader, level, target)
        if not op.results[0].uses.get_length():
            Rewriter.erase_op(op)


def is_fusible_view(op: Operation, level: Level) -> bool:
    """
    Return `True` if an operation is a view of a stored tensor, or a slice of it that
    groups can read in place: element by element, or of a small tensor.
    """
    if isinstance(op, ViewInterface):
        return True
    if not is_view_or_slice(op):
        return False
    return _is_small(op, level) or all(map(_is_read_in_bounds, op.results[0].uses))


def _is_small(op: Operation, level: Level) -> bool:
    """Return `True` if the level has room for several tensors of the operand's size."""
    return (
        byte_count(tensor_type(op.operands[0])) * PARTITION.resident_operands
        <= level.capacity
    )


def is_view_or_slice(op: Operation) -> bool:
    """
    Return `True` if an operation is a view of a stored tensor, or of a slice of it.
    """
    return isinstance(op, ViewInterface) or (
        is_unit_stride_slice(op) and is_stored_slice(op)
    )


def _is_read_in_bounds(use: Use) -> bool:
    """
    Return `True` if a group reads no element of an operand twice, and none out of
    bounds.
    """
    group = use.operation
    if not isinstance(group, graph.GroupOp):
        return False
    return all(
        isinstance(inner.operation, TilingInterface)
        and _is_read_elementwise(inner.operation, inner.index)
        for inner in group.body.block.args[use.index].uses
    )


def _is_read_elementwise(op: TilingInterface, operand: int) -> bool:
    extents = [iterator.extent for iterator in op.iteration_domain()]
    shape = tensor_type(op.operands[operand]).get_shape()
    return all(
        access.width == 1
        and is_in_bounds(access, extents, extent)
        and sum(extents[iterator] > 1 for iterator, _ in access.terms) <= 1
        for access, extent in zip(op.indexing_maps()[operand] or (), shape, strict=True)
    )


def _is_group_result(op: Operation) -> bool:
    """Return `True` if a group computes the source of a view."""
    while is_view_or_slice(op):
        owner = op.operands[0].owner
        if isinstance(owner, Block):
            return False
        op = owner
    return isinstance(op, graph.GroupOp)


def _reader_groups(op: Operation) -> list[Operation]:
    return list(dict.fromkeys(use.operation for use in op.results[0].uses))


def _copy_for_reader(op: Operation, reader: Operation) -> Operation:
    """Copy an operation for one of its readers."""
    copy = op.clone()
    copy.results[0].name_hint = op.results[0].name_hint
    Rewriter.insert_op(copy, InsertPoint.after(op))
    op.results[0].replace_uses_with_if(
        copy.results[0], lambda use: use.operation is reader
    )
    return copy


def _fuse_slice(
    cut: Operation, reader: graph.GroupOp, level: Level, target: TargetSpec
) -> None:
    """
    Fuse a slice into a reader, unless the reader is not elementwise on it, or the group
    cannot be tiled.
    """
    uses = (use for use in cut.results[0].uses if use.operation is reader)
    if not _is_small(cut, level) and not all(map(_is_read_in_bounds, uses)):
        return
    if group_objection(MergedGroup((cut, reader)).members, level, target) is None:
        merge_operations((_copy_for_reader(cut, reader), reader))
