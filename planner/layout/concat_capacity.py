"""Concat operands that must be copied because the level cannot hold the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.slice_views import is_axis_merge
from tlf.dialects.target import TargetSpec
from tlf.planner.context import Memo
from tlf.planner.cost.npu.npu_estimator import has_timing_model
from tlf.planner.cost.npu.tile_footprint import BufferRow
from tlf.planner.layout.concat_in_place import CopiedOperand
from tlf.planner.layout.level_use import LevelUse, ResidencyInterval

CROWDED = "there is no room for all that is joined while it is there"


@dataclass(frozen=True)
class _ResidentOperand:
    """Concat operand of a group that is live in the level around the group."""

    op: ConcatLikeInterface
    number: int
    """Index of the operand."""
    value: SSAValue
    """The value of the operand, as it is named inside of the group."""
    stay: ResidencyInterval
    span: range
    """The groups while which its buffer is there."""


def operands_without_room(
    block: Block, module: ModuleOp, memo: Memo
) -> Iterator[CopiedOperand]:
    """
    Yield the concat operands of groups of a block that cannot be computed in place: all
    of them share one buffer, live from when the first one is computed to the last use
    of any, for which the level of their plans has no room. With copies of the operands
    it has: the search for schedules counts both.
    """
    groups = [op for op in block.ops if isinstance(op, graph.GroupOp) and op.plan]
    if not any(map(_has_concat, groups)):
        return
    target = TargetSpec.of(module)
    if not has_timing_model(target):
        return
    for level in target.tile_levels[:-1]:
        here = [op for op in groups if op.plan and op.plan.level.data == level.name]
        joining = [number for number, group in enumerate(here) if _has_concat(group)]
        if joining:
            room = _ConcatCapacity(LevelUse(here, target, level, memo))
            for number in joining:
                yield from room.operands_to_copy(number)


@dataclass
class _ConcatCapacity:
    """Capacity of a level for concat operands that are computed in place."""

    use: LevelUse
    _spans: dict[ResidencyInterval, range] = field(
        default_factory=dict[ResidencyInterval, range]
    )
    """For tensors that are joined, the groups while which the buffer is there."""
    _taken: set[ResidencyInterval] = field(default_factory=set[ResidencyInterval])
    """Stays of tensors that are already placed in another one."""

    def operands_to_copy(self, number: int) -> Iterator[CopiedOperand]:
        """Yield the concat operands that a group is to copy."""
        if self.use.tiling_of(number).loops:
            return
        for root in _root_concats(self.use.groups[number]):
            parts = self._resident_operands(number, root)
            parts.sort(key=lambda part: len(part.span))
            while parts and not self._place_in_result(number, root.results[0], parts):
                part = parts.pop()
                yield CopiedOperand(part.op, part.number, CROWDED)
            self._taken.update(part.stay for part in parts)

    def _resident_operands(
        self, number: int, root: ConcatLikeInterface
    ) -> list[_ResidentOperand]:
        """Return the concat operands that are live outside of the group, too."""
        group = self.use.groups[number]
        found: dict[SSAValue, _ResidentOperand] = {}
        for op, operand, value in _concat_leaves(root, {*group.yielded_values}):
            stay = self._interval_of(number, value)
            if stay is not None and stay not in self._taken:
                part = _ResidentOperand(
                    op, operand, value, stay, self._live_groups(stay)
                )
                found.setdefault(value, part)
        return list(found.values())

    def _live_groups(self, stay: ResidencyInterval) -> range:
        return self._spans.get(stay, range(stay.first, stay.last + 1))

    def _interval_of(self, number: int, value: SSAValue) -> ResidencyInterval | None:
        """
        Return the stay of a value of a group in the level; None if it lies there only
        inside of the group.
        """
        group = self.use.groups[number]
        arguments = list[SSAValue](group.body.block.args)
        if value in arguments:
            operand = arguments.index(value)
            if group.plan is None or operand not in group.plan.resident_operands:
                return None
            return self.use.interval_of(group.inputs[operand], number)
        if value not in group.yielded_values:
            return None
        result = group.results[list(group.yielded_values).index(value)]
        stay = self.use.interval_of(result, number)
        return stay or ResidencyInterval(self.use.bytes_of(result), number, number)

    def _place_in_result(
        self, number: int, whole: SSAValue, parts: Sequence[_ResidentOperand]
    ) -> bool:
        """Place operands in the concat result; return `False` if there is no room."""
        own = self._interval_of(number, whole)
        there = range(number, number + 1) if own is None else self._live_groups(own)
        first = min(there.start, *(part.span.start for part in parts))
        stop = max(there.stop, *(part.span.stop for part in parts))
        size = self.use.bytes_of(whole)
        more = {
            each: size - sum(part.stay.size for part in parts if each in part.span)
            for each in range(first, stop)
            if each not in there
        }
        values = {part.value for part in parts}
        rows = _rows_in_result(self.use.rows_of(number), whole, values)
        stays = [part.stay for part in parts]
        taken = self.use.bytes_in_use(number, rows, stays)
        if taken > self.use.level.capacity or not self.use.has_room(more):
            return False
        self.use.place_in_result(number, rows, stays, more)
        if own is not None:
            self._spans[own] = range(first, stop)
        return True


def _rows_in_result(
    rows: Sequence[BufferRow], whole: SSAValue, parts: AbstractSet[SSAValue]
) -> list[BufferRow]:
    """The buffers of a group where parts have none, but are there with the whole."""
    inside = [row for row in rows if row.value in parts]
    known = {row.value for row in inside}
    start, end = _full_live_range(rows)
    if parts <= known:
        start = min(row.start for row in inside)
        end = max(row.end for row in inside)
    return [
        row._replace(start=min(start, row.start), end=max(end, row.end))
        if row.value is whole
        else row
        for row in rows
        if row.value not in parts
    ]


def _full_live_range(rows: Sequence[BufferRow]) -> tuple[int, int]:
    """Return the live range of a buffer that is live all the time."""
    return min(row.start for row in rows), max(row.end for row in rows)


def _has_concat(group: graph.GroupOp) -> bool:
    return any(isinstance(op, ConcatLikeInterface) for op in group.body.block.ops)


def _root_concats(group: graph.GroupOp) -> Iterator[ConcatLikeInterface]:
    """
    Yield the concatenations of a group that are not themselves operands of others
    inside of it.
    """
    results = {*group.yielded_values}
    inner: set[Operation] = set()
    for op in reversed(list(group.body.block.ops)):
        if isinstance(op, ConcatLikeInterface):
            inner.update(_nested_concats(op, results))
    for op in group.body.block.ops:
        if isinstance(op, ConcatLikeInterface) and op not in inner:
            yield op


def _nested_concats(
    op: ConcatLikeInterface, results: AbstractSet[SSAValue]
) -> Iterator[Operation]:
    for operand in op.operands:
        value = _strip_reshape(operand)
        if isinstance(value.owner, ConcatLikeInterface) and value not in results:
            yield value.owner


def _concat_leaves(
    op: ConcatLikeInterface, results: AbstractSet[SSAValue]
) -> Iterator[tuple[ConcatLikeInterface, int, SSAValue]]:
    """
    Yield the leaves of nested concatenations: operation, index and value of each
    operand.
    """
    for number, operand in enumerate(op.operands):
        value = _strip_reshape(operand)
        if isinstance(value.owner, ConcatLikeInterface) and value not in results:
            yield from _concat_leaves(value.owner, results)
        else:
            yield op, number, value


def _strip_reshape(value: SSAValue) -> SSAValue:
    """Return the concat operand itself, maybe of another shape."""
    owner = value.owner
    if isinstance(owner, Operation) and is_axis_merge(owner):
        return owner.operands[0]
    return value
