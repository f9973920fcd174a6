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
    return [_operation_contents_of(each) for each in op.walk()]


def _operation_contents_of(op: Operation) -> OperationContents:
    """
    Return an operation with its own contents, without nested operations, and whether it
    ends its block.
    """
    results = op.results
    return (
        op,
        op.parent,
        tuple(op.operands),
        results,
        tuple([each.type for each in results]),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        tuple(op.successors),
        tuple([_region_contents_of(each) for each in op.regions]),
        op.parent is not None and op.parent.last_op is op,
    )


def _region_contents_of(region: Region) -> tuple[object, ...]:
    """Return a region, its blocks, and their arguments, types and last operations."""
    blocks = [(each, each.args, each.arg_types, each.last_op) for each in region.blocks]
    return (region, *blocks)
