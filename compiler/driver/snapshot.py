"""
Driver: snapshots of the contents of a module, to detect whether a pass changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import Operation, Region

OperationContents: TypeAlias = tuple[Operation, *tuple[object, ...]]
"""An operation, and its own contents, without nested operations."""

Snapshot: TypeAlias = Sequence[OperationContents]
"""
All that a verifier may inspect, by operation. It references the operations and values
themselves, so that identities of erased ones are not reused.
"""


def take_snapshot(op: Operation) -> Snapshot:
    """
    Return the contents of `op` and all nested operations; equal as long as nothing
    changes.
    """
    snapshot: list[OperationContents] = []
    _append_contents(op, op.parent is not None and op.parent.last_op is op, snapshot)
    return snapshot


def _append_contents(
    op: Operation, is_last: bool, snapshot: list[OperationContents]
) -> None:
    """
    Append an operation with its own contents, and whether it ends its block, then its
    nested operations.
    """
    results, regions = op.results, op.regions
    snapshot.append(
        (
            op,
            op.parent,
            tuple(op.operands),
            results,
            tuple([each.type for each in results]),
            tuple(op.properties.items()) if op.properties else (),
            tuple(op.attributes.items()) if op.attributes else (),
            # Only terminators have successors.
            tuple(op.successors) if is_last else (),
            is_last,
            # Most operations have no regions, which is found out quickly.
            *(map(_region_contents_of, regions) if regions else ()),
        )
    )
    for region in regions:
        block = region.first_block
        while block is not None:
            inner, last = block.first_op, block.last_op
            while inner is not None:
                _append_contents(inner, inner is last, snapshot)
                inner = inner.next_op
            block = block.next_block


def _region_contents_of(region: Region) -> tuple[object, ...]:
    """Return a region, its blocks, and their arguments, types and last operations."""
    contents: list[object] = [region]
    block = region.first_block
    while block is not None:
        types = tuple([each.type for each in block.args])
        contents.append((block, block.args, types, block.last_op))
        block = block.next_block
    return tuple(contents)
