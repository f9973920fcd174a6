"""Rewrite of the passes on plans: several operations of a block become one group."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.planner.partition.merged_group import MergedGroup


def merge_into_group(
    operations: Sequence[Operation],
) -> tuple[graph.GroupOp, Sequence[SSAValue]]:
    """
    Merge operations into one group. Return it, and the value that each of its results
    replaces.
    """
    first, last = operations[0], operations[-1]
    if isinstance(first, graph.GroupOp) and first is last:
        return first, first.results
    group = MergedGroup(operations)
    merged = group.to_group_operation()
    merged.location = last.location
    Rewriter.insert_op(merged, InsertPoint.after(last))
    for old, new in zip(group.results, merged.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for op in reversed(operations):
        Rewriter.erase_op(op)
    return merged, group.results
