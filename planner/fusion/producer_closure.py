"""Producer closure: groups of a block that compute only what another group needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.types import tensor_type

Part: TypeAlias = Sequence[TilingInterface]
"""Operations that run together."""

MOST = 8
"""So many groups may be joined at once."""

OPERATIONS = 48
"""So many operations of all groups together are looked at."""

SMALL = 8
"""
Divisor of the elements of the largest tensor: smaller ones may be passed between
groups.
"""


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
    Return a group and all groups that compute its inputs, up to contractions. What
    hands on a whole tensor to others stays apart: it has to be stored anyhow.
    """
    return _drop_stored(_collect_producers(group, values, groups, through_views))


def reader_closure_of(
    group: Part, values: Sequence[SSAValue], groups: Mapping[Operation, Part]
) -> list[Part]:
    """
    Return a group, its producers and all other readers of whole inputs. Only the group
    where something else reads one.
    """
    parts = _collect_producers(group, values, groups)
    most = max(_element_count(value) for part in parts for value in operands_of(part))
    while len(parts) <= MOST:
        inside: set[Operation] = {op for part in parts for op in part}
        readers = {
            reader: groups.get(reader)
            for part in parts
            for reader in _outside_readers(part, inside, most // SMALL)
        }
        if not readers:
            return parts
        found = {id(each): each for each in readers.values() if each is not None}
        if None in readers.values():
            break
        parts += found.values()
    return [group]


def _collect_producers(
    group: Part,
    values: Sequence[SSAValue],
    groups: Mapping[Operation, Part],
    through_views: bool = False,
) -> list[Part]:
    found = {id(group): group}
    pending, seen = deque(values), set[Operation]()
    room = OPERATIONS - len(group)
    while pending and len(found) < MOST:
        value = pending.popleft()
        owner = (source_of(value) if through_views else value).owner
        if not isinstance(owner, Operation) or owner not in groups or owner in seen:
            continue
        seen.add(owner)
        part = groups[owner]
        if id(part) not in found:
            if (room := room - len(part)) < 0:
                break
            found[id(part)] = part
        if not isinstance(owner, ContractionInterface):
            pending += owner.operands
    return list(found.values())


def _drop_stored(parts: list[Part]) -> list[Part]:
    """The first part, and those that hand nothing on to what is not among them."""
    if len(parts) == 1:
        return parts
    most = max(_element_count(value) for part in parts for value in operands_of(part))
    while len(parts) > 1:
        inside: set[Operation] = _with_views(parts)
        first, *others = parts
        stored = [any(_outside_readers(part, inside, most // SMALL)) for part in others]
        if not any(stored):
            return parts
        kept = zip(others, stored, strict=True)
        parts = [first, *(part for part, is_stored in kept if not is_stored)]
    return parts


def _outside_readers(
    part: Part, inside: set[Operation], least: int
) -> Iterator[Operation]:
    """
    Yield the users outside of the group of its results with more than `least` elements.
    """
    for op in part:
        for value in op.results:
            if _element_count(value) > least:
                users = (use.operation for use in value.uses)
                yield from (user for user in users if user not in inside)


def source_of(value: SSAValue) -> SSAValue:
    """The tensor that is seen under another shape, or itself."""
    while isinstance(owner := value.owner, graph.ReshapeOp):
        value = owner.operand
    return value


def operations_in_order(parts: Sequence[Part]) -> list[TilingInterface]:
    """
    All operations of parts of a block, in program order, with what only shows one to
    another under another shape.
    """
    found = _sort_operations(_with_views(parts), parts[0][0])
    return [op for op in found if isinstance(op, TilingInterface)]


def _sort_operations(inside: set[Operation], first: Operation) -> Iterable[Operation]:
    """Operations of a block in program order, found from one of them on both ways."""
    found, before, after = deque([first]), first.prev_op, first.next_op
    while len(found) < len(inside) and (before or after):
        if after is not None:
            if after in inside:
                found.append(after)
            after = after.next_op
        if before is not None:
            if before in inside:
                found.appendleft(before)
            before = before.prev_op
    return found


def _with_views(parts: Sequence[Part]) -> set[Operation]:
    """All operations of parts, with what only shows one to another."""
    inside: set[Operation] = {op for part in parts for op in part}
    for part in parts:
        for value in operands_of(part):
            if isinstance(value.owner, graph.ReshapeOp):
                if source_of(value).owner in inside:
                    inside.update(_views_behind(value, inside))
    return inside


def _views_behind(value: SSAValue, inside: set[Operation]) -> Iterator[graph.ReshapeOp]:
    """The reshapes between a value and what computes it."""
    while isinstance(owner := value.owner, graph.ReshapeOp) and owner not in inside:
        yield owner
        value = owner.operand


def _element_count(value: SSAValue) -> int:
    is_tensor = isinstance(value.type, TensorType)
    return tensor_type(value).element_count() if is_tensor else 0
