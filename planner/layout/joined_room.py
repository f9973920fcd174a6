"""
Concat operands of groups that are copied, as a memory level has no room for the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.cuts import is_merge
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.target import Target
from tlf.planner.context import Memo
from tlf.planner.cost.npu.footprint import Row
from tlf.planner.cost.npu.timed import is_timed
from tlf.planner.layout.joined_values import Copied
from tlf.planner.layout.level_use import LevelUse, Stay

CROWDED = "there is no room for all that is joined while it is there"


@dataclass(frozen=True)
class _Part:
    """Concat operand of a group that is live in the level around the group."""

    op: JoiningInterface
    number: int
    """Index of the operand."""
    value: SSAValue
    """The value of the operand, as it is named inside of the group."""
    stay: Stay
    span: range
    """The groups while which its buffer is there."""


def crowded_operands(block: Block, module: ModuleOp, memo: Memo) -> Iterator[Copied]:
    """
    Yield the concat operands of groups of a block that cannot be computed in place: all
    of them share one buffer, live from when the first one is computed to the last use
    of any, for which the level of their plans has no room. With copies of the operands
    it has: the search for schedules counts both.
    """
    groups = [op for op in block.ops if isinstance(op, graph.GroupOp) and op.plan]
    if not any(map(_joins, groups)):
        return
    target = Target.of(module)
    if not is_timed(target):
        return
    for level in target.tile_levels[:-1]:
        here = [op for op in groups if op.plan and op.plan.level.data == level.name]
        joining = [number for number, group in enumerate(here) if _joins(group)]
        if joining:
            room = _Room(LevelUse(here, target, level, memo))
            for number in joining:
                yield from room.crowded(number)


@dataclass
class _Room:
    """Decides which parts of what groups join are made in their places."""

    use: LevelUse
    _spans: dict[Stay, range] = field(default_factory=dict[Stay, range])
    """For tensors that are joined, the groups while which the buffer is there."""
    _taken: set[Stay] = field(default_factory=set[Stay])
    """Stays of tensors that are already placed in another one."""

    def crowded(self, number: int) -> Iterator[Copied]:
        """Yield the concat operands that a group is to copy."""
        if self.use.tiling(number).loops:
            return
        for root in _roots(self.use.groups[number]):
            parts = self._parts(number, root)
            parts.sort(key=lambda part: len(part.span))
            while parts and not self._is_joined(number, root.results[0], parts):
                part = parts.pop()
                yield Copied(part.op, part.number, CROWDED)
            self._taken.update(part.stay for part in parts)

    def _parts(self, number: int, root: JoiningInterface) -> list[_Part]:
        """Return the concat operands that are live outside of the group, too."""
        group = self.use.groups[number]
        found: dict[SSAValue, _Part] = {}
        for op, operand, value in _leaves(root, {*group.yielded}):
            stay = self._stay(number, value)
            if stay is not None and stay not in self._taken:
                part = _Part(op, operand, value, stay, self._span(stay))
                found.setdefault(value, part)
        return list(found.values())

    def _span(self, stay: Stay) -> range:
        return self._spans.get(stay, range(stay.first, stay.last + 1))

    def _stay(self, number: int, value: SSAValue) -> Stay | None:
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
            return self.use.stay(group.inputs[operand], number)
        if value not in group.yielded:
            return None
        result = group.results[list(group.yielded).index(value)]
        stay = self.use.stay(result, number)
        return stay or Stay(self.use.size(result), number, number)

    def _is_joined(self, number: int, whole: SSAValue, parts: Sequence[_Part]) -> bool:
        """Let parts be made in their places, if there is room for all of it."""
        own = self._stay(number, whole)
        there = range(number, number + 1) if own is None else self._span(own)
        first = min(there.start, *(part.span.start for part in parts))
        stop = max(there.stop, *(part.span.stop for part in parts))
        size = self.use.size(whole)
        more = {
            each: size - sum(part.stay.size for part in parts if each in part.span)
            for each in range(first, stop)
            if each not in there
        }
        values = {part.value for part in parts}
        rows = _joined_rows(self.use.rows(number), whole, values)
        stays = [part.stay for part in parts]
        taken = self.use.taken(number, rows, stays)
        if taken > self.use.level.capacity or not self.use.has_room(more):
            return False
        self.use.join(number, rows, stays, more)
        if own is not None:
            self._spans[own] = range(first, stop)
        return True


def _joined_rows(
    rows: Sequence[Row], whole: SSAValue, parts: AbstractSet[SSAValue]
) -> list[Row]:
    """The buffers of a group where parts have none, but are there with the whole."""
    inside = [row for row in rows if row.value in parts]
    known = {row.value for row in inside}
    start, end = _extent(rows)
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


def _extent(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the live range of a buffer that is live all the time."""
    return min(row.start for row in rows), max(row.end for row in rows)


def _joins(group: graph.GroupOp) -> bool:
    return any(isinstance(op, JoiningInterface) for op in group.body.block.ops)


def _roots(group: graph.GroupOp) -> Iterator[JoiningInterface]:
    """
    Yield the concatenations of a group that are not themselves operands of others
    inside of it.
    """
    results = {*group.yielded}
    inner: set[Operation] = set()
    for op in reversed(list(group.body.block.ops)):
        if isinstance(op, JoiningInterface):
            inner.update(_nested(op, results))
    for op in group.body.block.ops:
        if isinstance(op, JoiningInterface) and op not in inner:
            yield op


def _nested(
    op: JoiningInterface, results: AbstractSet[SSAValue]
) -> Iterator[Operation]:
    for operand in op.operands:
        value = _unmerged(operand)
        if isinstance(value.owner, JoiningInterface) and value not in results:
            yield value.owner


def _leaves(
    op: JoiningInterface, results: AbstractSet[SSAValue]
) -> Iterator[tuple[JoiningInterface, int, SSAValue]]:
    """
    Yield the leaves of nested concatenations: operation, index and value of each
    operand.
    """
    for number, operand in enumerate(op.operands):
        value = _unmerged(operand)
        if isinstance(value.owner, JoiningInterface) and value not in results:
            yield from _leaves(value.owner, results)
        else:
            yield op, number, value


def _unmerged(value: SSAValue) -> SSAValue:
    """Return the concat operand itself, maybe of another shape."""
    owner = value.owner
    if isinstance(owner, Operation) and is_merge(owner):
        return owner.operands[0]
    return value
