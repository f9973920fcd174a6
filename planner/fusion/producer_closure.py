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
    return _drop_parts_read_outside(
        _collect_producer_groups(group, values, groups, through_views)
    )


def reader_closure_of(
    group: Part, values: Sequence[SSAValue], groups: Mapping[Operation, Part]
) -> list[Part]:
    """
    Return a group, its producers and all other readers of whole inputs; only the group
    itself if an operation outside of groups reads one.
    """
    parts = _collect_producer_groups(group, values, groups)
    max_elements = max(
        _element_count(value) for part in parts for value in operands_of(part)
    )
    inside, added = set[Operation](), parts
    while len(parts) <= PARTITION.max_closure_groups:
        inside.update(op for part in added for op in part)
        readers = {
            reader: groups.get(reader)
            for part in added
            for reader in _readers_outside(
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
        added = list(reader_groups.values())
        parts += added
    return [group]


def _collect_producer_groups(
    group: Part,
    values: Sequence[SSAValue],
    groups: Mapping[Operation, Part],
    through_views: bool = False,
) -> list[Part]:
    """
    Return `group` and the groups that compute `values`, breadth first up to
    contractions and the limits in `PARTITION`.
    """
    closure = {id(group): group}
    depths = {id(group): 0}
    pending, visited = deque((value, 0) for value in values), set[Operation]()
    remaining = PARTITION.max_closure_operations - len(group)
    while pending and len(closure) < PARTITION.max_closure_groups:
        value, depth = pending.popleft()
        owner = (reshape_source_of(value) if through_views else value).owner
        if owner in visited or owner not in groups:
            continue
        assert isinstance(owner, Operation)
        visited.add(owner)
        part = groups[owner]
        if id(part) not in closure:
            if depth == PARTITION.max_closure_depth:
                continue
            if (remaining := remaining - len(part)) < 0:
                break
            closure[id(part)] = part
            depths[id(part)] = depth + 1
        if not isinstance(owner, ContractionInterface):
            pending += ((operand, depths[id(part)]) for operand in owner.operands)
    return list(closure.values())


def _drop_parts_read_outside(parts: list[Part]) -> list[Part]:
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
        inside: set[Operation] = _with_reshapes_between(parts)
        first, *producers = parts
        stored = [
            any(
                _readers_outside(
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


def _readers_outside(
    part: Part, operations: set[Operation], min_elements: int
) -> Iterator[Operation]:
    """
    Yield the users outside of `operations` of a part's results with more than
    `min_elements` elements.
    """
    for op in part:
        for value in op.results:
            if _element_count(value) > min_elements:
                users = (use.operation for use in value.uses)
                yield from (user for user in users if user not in operations)


def reshape_source_of(value: SSAValue) -> SSAValue:
    """Return the tensor that a value is a reshape of, or the value itself."""
    while isinstance(owner := value.owner, graph.ReshapeOp):
        value = owner.operand
    return value


def operations_with_reshapes(parts: Sequence[Part]) -> list[TilingInterface]:
    """
    Return all operations of parts of a block, in program order, with the reshapes
    between them.
    """
    ordered = _sort_in_program_order(_with_reshapes_between(parts), parts[0][0])
    return [op for op in ordered if isinstance(op, TilingInterface)]


def _sort_in_program_order(
    operations: set[Operation], start: Operation
) -> Iterable[Operation]:
    """
    Return operations of a block in program order, searched from one of them in both
    directions.
    """
    ordered, before, after = deque([start]), start.prev_op, start.next_op
    while len(ordered) < len(operations) and (before or after):
        if after is not None:
            if after in operations:
                ordered.append(after)
            after = after.next_op
        if before is not None:
            if before in operations:
                ordered.appendleft(before)
            before = before.prev_op
    return ordered


def _with_reshapes_between(parts: Sequence[Part]) -> set[Operation]:
    """Return all operations of parts, with the reshapes between them."""
    inside: set[Operation] = {op for part in parts for op in part}
    for part in parts:
        for op in part:
            for value in op.operands:
                # Most operands have been found already.
                if value.owner not in inside and isinstance(
                    value.owner, graph.ReshapeOp
                ):
                    if reshape_source_of(value).owner in inside:
                        inside.update(_reshapes_before(value, inside))
    return inside


def _reshapes_before(
    value: SSAValue, operations: set[Operation]
) -> Iterator[graph.ReshapeOp]:
    """Yield the reshapes between a value and its producer."""
    while isinstance(owner := value.owner, graph.ReshapeOp) and owner not in operations:
        yield owner
        value = owner.operand


def _element_count(value: SSAValue) -> int:
    is_tensor = isinstance(value.type, TensorType)
    return tensor_type(value).element_count() if is_tensor else 0
