"""
Rewrite of the pass `graph-partition` before its search: views and slices of group
results are fused into groups that read them.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.tiling.group_analysis import find_group_objection
from tlf.dialects import graph
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.plan.group_merging import merge_into_group
from tlf.planner.partition.fusible_views import (
    is_read_in_bounds,
    is_small,
    is_view_or_slice,
)
from tlf.planner.partition.merged_group import MergedGroup


def fuse_slices_into_readers(block: Block, level: Level, target: TargetSpec) -> None:
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
        for reader in _groups_that_read(op):
            if isinstance(op, ViewInterface):
                _copy_view_for_reader(op, reader)
            elif isinstance(reader, graph.GroupOp) and reader.plan is None:
                _fuse_slice(op, reader, level, target)
        if not op.results[0].uses.get_length():
            Rewriter.erase_op(op)


def _is_group_result(op: Operation) -> bool:
    """
    Return `True` if a chain of views and slices that ends at `op` starts at a group.
    """
    while is_view_or_slice(op):
        owner = op.operands[0].owner
        if isinstance(owner, Block):
            return False
        op = owner
    return isinstance(op, graph.GroupOp)


def _groups_that_read(op: Operation) -> list[Operation]:
    return list(dict.fromkeys(use.operation for use in op.results[0].uses))


def _copy_view_for_reader(op: Operation, reader: Operation) -> Operation:
    """Insert a clone of `op`, let `reader` use it instead of `op`, and return it."""
    copy = op.clone()
    copy.results[0].name_hint = op.results[0].name_hint
    Rewriter.insert_op(copy, InsertPoint.after(op))
    op.results[0].replace_uses_with_if(
        copy.results[0], lambda use: use.operation is reader
    )
    return copy


def _fuse_slice(
    slice_op: Operation, reader: graph.GroupOp, level: Level, target: TargetSpec
) -> None:
    """
    Fuse a slice into a reader, unless the reader is not elementwise on it, or the group
    cannot be tiled.
    """
    uses = (use for use in slice_op.results[0].uses if use.operation is reader)
    if not is_small(slice_op, level) and not all(map(is_read_in_bounds, uses)):
        return
    if (
        find_group_objection(
            MergedGroup((slice_op, reader)).group_members, level, target
        )
        is None
    ):
        merge_into_group((_copy_view_for_reader(slice_op, reader), reader))
