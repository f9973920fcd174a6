"""
Planning of concats: operands that must be copied because the level has no room for the
result.
"""

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

CROWDED = "the level has no room for the result while its operands are live"


@dataclass(frozen=True)
class _ResidentOperand:
    """Concat operand of a group that is live in the level around the group."""

    op: ConcatLikeInterface
    number: int
    """Index of the operand."""
    value: SSAValue
    """Value of the operand inside of the group."""
    stay: ResidencyInterval
    span: range
    """Groups during which its buffer is live."""


def operands_without_room(
    block: Block, module: ModuleOp, memo: Memo
) -> Iterator[CopiedOperand]:
    """
    Yield the concat operands of groups of a block that cannot be computed in place
    because of capacity. Operands computed in place share one buffer, live from the
    first write of any of them to the last use of any, for which the level of the plans
    may have no room. With copies of the operands it has: the search for schedules
    accounts for both.
    """
    groups = [op for op in block.ops if isinstance(op, graph.GroupOp) and op.plan]
    if not any(map(_has_concat, groups)):
        return
    target = TargetSpec.of(module)
    if not has_timing_model(target):
        return
    for level in target.tile_levels[:-1]:
        level_groups = [
            op for op in groups if op.plan and op.plan.level.data == level.name
        ]
        concat_groups = [
            number for number, group in enumerate(level_groups) if _has_concat(group)
        ]
        if concat_groups:
            capacity = _ConcatCapacity(LevelUse(level_groups, target, level, memo))
            for number in concat_groups:
                yield from capacity.operands_to_copy(number)


@dataclass
class _ConcatCapacity:
    """Capacity of a level for concat operands that are computed in place."""

    use: LevelUse
    _spans: dict[ResidencyInterval, range] = field(
        default_factory=dict[ResidencyInterval, range]
    )
    """Groups during which the buffer of a concat operand is live."""
    _taken: set[ResidencyInterval] = field(default_factory=set[ResidencyInterval])
    """Residency intervals of tensors that are already placed in another one."""

    def operands_to_copy(self, number: int) -> Iterator[CopiedOperand]:
        """Yield the concat operands that a group must copy."""
        if self.use.tiling_of(number).loops:
            return
        for root in _root_concats(self.use.groups[number]):
            operands = self._resident_operands(number, root)
            operands.sort(key=lambda operand: len(operand.span))
            while operands and not self._place_in_result(
                number, root.results[0], operands
            ):
                operand = operands.pop()
                yield CopiedOperand(operand.op, operand.number, CROWDED)
            self._taken.update(operand.stay for operand in operands)

    def _resident_operands(
        self, number: int, root: ConcatLikeInterface
    ) -> list[_ResidentOperand]:
        """Return the concat operands that are live outside of the group, too."""
        group = self.use.groups[number]
        resident: dict[SSAValue, _ResidentOperand] = {}
        for op, operand, value in _concat_leaves(root, {*group.yielded_values}):
            interval = self._interval_of(number, value)
            if interval is not None and interval not in self._taken:
                resident_operand = _ResidentOperand(
                    op, operand, value, interval, self._live_groups(interval)
                )
                resident.setdefault(value, resident_operand)
        return list(resident.values())

    def _live_groups(self, stay: ResidencyInterval) -> range:
        return self._spans.get(stay, range(stay.first, stay.last + 1))

    def _interval_of(self, number: int, value: SSAValue) -> ResidencyInterval | None:
        """
        Return the residency interval of a value of a group in the level, or None if it
        is live only inside of the group.
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
        interval = self.use.interval_of(result, number)
        return interval or ResidencyInterval(self.use.bytes_of(result), number, number)

    def _place_in_result(
        self, number: int, whole: SSAValue, parts: Sequence[_ResidentOperand]
    ) -> bool:
        """Place operands in the concat result. Return `False` if there is no room."""
        interval = self._interval_of(number, whole)
        live_groups = (
            range(number, number + 1)
            if interval is None
            else self._live_groups(interval)
        )
        first = min(live_groups.start, *(operand.span.start for operand in parts))
        stop = max(live_groups.stop, *(operand.span.stop for operand in parts))
        size = self.use.bytes_of(whole)
        extra_bytes = {
            group: size
            - sum(operand.stay.size for operand in parts if group in operand.span)
            for group in range(first, stop)
            if group not in live_groups
        }
        values = {operand.value for operand in parts}
        rows = _rows_in_result(self.use.rows_of(number), whole, values)
        intervals = [operand.stay for operand in parts]
        used_bytes = self.use.bytes_in_use(number, rows, intervals)
        if used_bytes > self.use.level.capacity or not self.use.has_room(extra_bytes):
            return False
        self.use.place_in_result(number, rows, intervals, extra_bytes)
        if interval is not None:
            self._spans[interval] = range(first, stop)
        return True


def _rows_in_result(
    rows: Sequence[BufferRow], whole: SSAValue, parts: AbstractSet[SSAValue]
) -> list[BufferRow]:
    """
    Return the buffers of a group without those of the operands `parts`, which the
    buffer of the result contains, and with the live range of the result extended to
    theirs.
    """
    operand_rows = [row for row in rows if row.value in parts]
    with_rows = {row.value for row in operand_rows}
    start, end = _full_live_range(rows)
    if parts <= with_rows:
        start = min(row.start for row in operand_rows)
        end = max(row.end for row in operand_rows)
    return [
        row._replace(start=min(start, row.start), end=max(end, row.end))
        if row.value is whole
        else row
        for row in rows
        if row.value not in parts
    ]


def _full_live_range(rows: Sequence[BufferRow]) -> tuple[int, int]:
    """Return the live range of a buffer that is live throughout a group."""
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
    """
    Return the source of a concat operand that is a reshape, or the operand itself.
    """
    owner = value.owner
    if isinstance(owner, Operation) and is_axis_merge(owner):
        return owner.operands[0]
    return value
