"""
Driver: snapshots of the contents of a module, to detect whether a pass changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import Operation, Region

Snapshot: TypeAlias = Sequence[object]
"""
All that a verifier may inspect. It references the operations and values themselves, so
that identities of erased ones are not reused.
"""


def take_snapshot(op: Operation) -> Snapshot:
    """
    Return the contents of `op` and all nested operations; equal as long as nothing
    changes.
    """
    return [_operation_contents_of(each) for each in op.walk()]


def _operation_contents_of(op: Operation) -> tuple[object, ...]:
    """Return an operation with its own contents, without nested operations."""
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
    )


def _region_contents_of(region: Region) -> tuple[object, ...]:
    """Return a region, its blocks, and their arguments with types."""
    blocks = [(each, each.args, each.arg_types) for each in region.blocks]
    return (region, *blocks)
