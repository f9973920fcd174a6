"""
Planning of fusion: groups of a block that compute only the inputs of another group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.types import tensor_type
from tlf.planner.settings.search_budgets import PARTITION

Part: TypeAlias = Sequence[TilingInterface]
"""Operations of one group."""


def operands_of(operations: Part) -> list[SSAValue]:
    """Return the operands of operations."""
    return [operand for op in operations for operand in op.operands]


def producer_closure_of(
    group: Part,
    values: Sequence[SSAValue],
    groups: Mapping[Operation, Part],
    through_views: bool = False,
) -> list[Part]:
    """
    Return a group and all groups that compute its inputs, up to contractions. Groups
    whose whole results have other readers are excluded: these results are stored in any
    case.
    """
    return _drop_stored(_collect_producers(group, values, groups, through_views))


def reader_closure_of(
    group: Part, values: Sequence[SSAValue], groups: Mapping[Operation, Part]
) -> list[Part]:
    """
    Return a group, its producers and all other readers of whole inputs; only the group
    itself if an operation outside of groups reads one.
    """
    parts = _collect_producers(group, values, groups)
    max_elements = max(
        _element_count(value) for part in parts for value in operands_of(part)
    )
    while len(parts) <= PARTITION.closure_groups:
        inside: set[Operation] = {op for part in parts for op in part}
        readers = {
            reader: groups.get(reader)
            for part in parts
            for reader in _outside_readers(
                part, inside, max_elements // PARTITION.small_tensor_ratio
            )
        }
        if not readers:
            return parts
        reader_groups = {
            id(each): each for each in readers.values() if each is not None
        }
        if None in readers.values():
            break
        parts += reader_groups.values()
    return [group]


def _collect_producers(
    group: Part,
    values: Sequence[SSAValue],
    groups: Mapping[Operation, Part],
    through_views: bool = False,
) -> list[Part]:
    closure = {id(group): group}
    pending, visited = deque(values), set[Operation]()
    remaining = PARTITION.closure_operations - len(group)
    while pending and len(closure) < PARTITION.closure_groups:
        value = pending.popleft()
        owner = (source_of(value) if through_views else value).owner
        if not isinstance(owner, Operation) or owner not in groups or owner in visited:
            continue
        visited.add(owner)
        part = groups[owner]
        if id(part) not in closure:
            if (remaining := remaining - len(part)) < 0:
                break
            closure[id(part)] = part
        if not isinstance(owner, ContractionInterface):
            pending += owner.operands
    return list(closure.values())


def _drop_stored(parts: list[Part]) -> list[Part]:
    """
    Return the first part, and the parts whose results have no readers outside of the
    parts.
    """
    if len(parts) == 1:
        return parts
    max_elements = max(
        _element_count(value) for part in parts for value in operands_of(part)
    )
    while len(parts) > 1:
        inside: set[Operation] = _with_views(parts)
        first, *producers = parts
        stored = [
            any(
                _outside_readers(
                    part, inside, max_elements // PARTITION.small_tensor_ratio
                )
            )
            for part in producers
        ]
        if not any(stored):
            return parts
        flags = zip(producers, stored, strict=True)
        parts = [first, *(part for part, is_stored in flags if not is_stored)]
    return parts


def _outside_readers(
    part: Part, inside: set[Operation], least: int
) -> Iterator[Operation]:
    """
    Yield the users outside of `inside` of a part's results with more than `least`
    elements.
    """
    for op in part:
        for value in op.results:
            if _element_count(value) > least:
                users = (use.operation for use in value.uses)
                yield from (user for user in users if user not in inside)


def source_of(value: SSAValue) -> SSAValue:
    """Return the tensor that a value is a reshape of, or the value itself."""
    while isinstance(owner := value.owner, graph.ReshapeOp):
        value = owner.operand
    return value


def operations_in_order(parts: Sequence[Part]) -> list[TilingInterface]:
    """
    Return all operations of parts of a block, in program order, with the reshapes
    between them.
    """
    ordered = _sort_operations(_with_views(parts), parts[0][0])
    return [op for op in ordered if isinstance(op, TilingInterface)]


def _sort_operations(inside: set[Operation], first: Operation) -> Iterable[Operation]:
    """
    Return operations of a block in program order, searched from one of them in both
    directions.
    """
    ordered, before, after = deque([first]), first.prev_op, first.next_op
    while len(ordered) < len(inside) and (before or after):
        if after is not None:
            if after in inside:
                ordered.append(after)
            after = after.next_op
        if before is not None:
            if before in inside:
                ordered.appendleft(before)
            before = before.prev_op
    return ordered


def _with_views(parts: Sequence[Part]) -> set[Operation]:
    """Return all operations of parts, with the reshapes between them."""
    inside: set[Operation] = {op for part in parts for op in part}
    for part in parts:
        for value in operands_of(part):
            if isinstance(value.owner, graph.ReshapeOp):
                if source_of(value).owner in inside:
                    inside.update(_views_behind(value, inside))
    return inside


def _views_behind(value: SSAValue, inside: set[Operation]) -> Iterator[graph.ReshapeOp]:
    """Yield the reshapes between a value and its producer."""
    while isinstance(owner := value.owner, graph.ReshapeOp) and owner not in inside:
        yield owner
        value = owner.operand


def _element_count(value: SSAValue) -> int:
    is_tensor = isinstance(value.type, TensorType)
    return tensor_type(value).element_count() if is_tensor else 0
