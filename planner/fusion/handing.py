"""Intermediate traffic between two groups."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.work.work import size_in_bytes
from tlf.dialects.interfaces import (
    ConstantInterface,
    ElementwiseInterface,
    TilingInterface,
)

Operations: TypeAlias = list[TilingInterface]
"""Those of a group, or some of them, in program order."""


def with_makers(op: TilingInterface, group: Operations) -> Operations:
    """
    An operation of a group, and before it what element by element makes no less of its
    operands, and nothing for the rest of the group.
    """
    moved, least = [op], size_in_bytes(op.results)
    for member in reversed(group):
        users = {use.operation for result in member.results for use in result.uses}
        is_for_others = any(each in group and each not in moved for each in users)
        if users.isdisjoint(moved) or is_for_others:
            continue
        if isinstance(member, ElementwiseInterface):
            if size_in_bytes(member.results) >= least:
                moved.insert(0, member)
    return moved


def most_saved(
    op: TilingInterface, before: Operations, reader: Operations
) -> tuple[int, Operations]:
    """
    Return how many bytes less two groups write and read if an operation is moved to its
    reader's group, alone or with the producers of its operands, as saves more; and the
    operations moved.
    """
    ways = [with_makers(op, before), [op]]
    saved = [bytes_saved(moved, before, reader) for moved in ways]
    return max(saved), ways[saved.index(max(saved))]


def bytes_saved(moved: Operations, before: Operations, reader: Operations) -> int:
    """
    Return how many bytes less two groups write and read if operations of the first one
    are moved to the second one, the only reader of the last one's result: that is no
    longer intermediate traffic, but their operands may become so.
    """
    rest = [member for member in before if member not in moved]
    saved = 2 * size_in_bytes(moved[-1].results)
    for value in dict.fromkeys(operand for each in moved for operand in each.operands):
        owner, size = value.owner, size_in_bytes([value])
        if owner in moved or _is_splat(owner):
            continue
        if owner not in rest:
            saved += 0 if _is_read_in(rest, value) else size
        elif all(use.operation in (*moved, *rest) for use in value.uses):
            saved -= size
        saved -= 0 if _is_read_in(reader, value) else size
    return saved


def _is_splat(owner: Operation | Block) -> bool:
    return isinstance(owner, ConstantInterface) and owner.splat() is not None


def widens(op: Operation) -> bool:
    """Return `True` if an operation's results have more bytes than its operands."""
    return size_in_bytes(op.results) > size_in_bytes(op.operands)


def connected(operations: Operations) -> list[Operations]:
    """Operations in program order, put together where one reads what another makes."""
    parts: list[Operations] = []
    for op in operations:
        before = [
            part for part in parts if any(each.owner in part for each in op.operands)
        ]
        parts = [part for part in parts if part not in before]
        inside = {member for part in before for member in part} | {op}
        parts.append([member for member in operations if member in inside])
    return parts


def _is_read_in(group: Operations, value: SSAValue) -> bool:
    return any(use.operation in group for use in value.uses)
