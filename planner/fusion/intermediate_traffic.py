"""Cost model of fusion: intermediate traffic between two groups."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.dialects.interfaces import (
    ElementwiseInterface,
    TilingInterface,
    splat_attribute_of,
)

Operations: TypeAlias = list[TilingInterface]
"""Operations of a group, in program order."""


def with_elementwise_producers(op: TilingInterface, group: Operations) -> Operations:
    """
    Return an operation of a group with its elementwise producers that have no other
    readers in the group and no smaller results.
    """
    moved, size = [op], size_in_bytes(op.results)
    for member in reversed(group):
        users = {use.operation for result in member.results for use in result.uses}
        is_for_others = any(each in group and each not in moved for each in users)
        if users.isdisjoint(moved) or is_for_others:
            continue
        if isinstance(member, ElementwiseInterface):
            if size_in_bytes(member.results) >= size:
                moved.insert(0, member)
    return moved


def max_bytes_saved_by_moving(
    op: TilingInterface, source_group: Operations, reader_group: Operations
) -> tuple[int, Operations]:
    """
    Return the most bytes saved if an operation moves to its reader's group, with or
    without its producers, and the operations to move.
    """
    candidates = [with_elementwise_producers(op, source_group), [op]]
    saved = [
        bytes_saved_by_moving(moved, source_group, reader_group) for moved in candidates
    ]
    return max(saved), candidates[saved.index(max(saved))]


def bytes_saved_by_moving(
    operations: Operations, source_group: Operations, reader_group: Operations
) -> int:
    """Return the bytes saved if operations move from a group to their reader's."""
    moved = set[Operation](operations)
    rest = [member for member in source_group if member not in moved]
    source = moved.union(rest)
    saved = 2 * size_in_bytes(operations[-1].results)
    for value in dict.fromkeys(
        operand for each in operations for operand in each.operands
    ):
        owner, size = value.owner, size_in_bytes([value])
        if owner in moved or splat_attribute_of(value) is not None:
            continue
        if owner not in source:
            saved += 0 if _is_value_read_in(rest, value) else size
        elif all(use.operation in source for use in value.uses):
            saved -= size
        saved -= 0 if _is_value_read_in(reader_group, value) else size
    return saved


def has_wider_results(op: Operation) -> bool:
    """Return `True` if an operation's results have more bytes than its operands."""
    return size_in_bytes(op.results) > size_in_bytes(op.operands)


def connected_components_of(operations: Operations) -> list[Operations]:
    """Return the connected components of operations in program order."""
    parts: list[Operations] = []
    for op in operations:
        producing = [
            part for part in parts if any(each.owner in part for each in op.operands)
        ]
        parts = [part for part in parts if part not in producing]
        inside = {member for part in producing for member in part} | {op}
        parts.append([member for member in operations if member in inside])
    return parts


def _is_value_read_in(group: Operations, value: SSAValue) -> bool:
    return any(value in op.operands for op in group)
