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
from tlf.planner.layout.level_usage import LevelUse, ResidencyInterval

CROWDED = "the level has no room for the result while its operands are live"


@dataclass(frozen=True)
class _ResidentOperand:
    """Concat operand of a group that is live in the level around the group."""

    op: ConcatLikeInterface
    operand_index: int
    """Index of the operand."""
    value: SSAValue
    """Value of the operand inside of the group."""
    residency_interval: ResidencyInterval
    live_groups: range
    """Groups during which its buffer is live."""


def concat_operands_without_room(
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
    target = TargetSpec.read_from_module(module)
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

    level_use: LevelUse
    _live_groups_by_interval: dict[ResidencyInterval, range] = field(
        default_factory=dict[ResidencyInterval, range]
    )
    """Groups during which the buffer of a concat operand is live."""
    _placed_intervals: set[ResidencyInterval] = field(
        default_factory=set[ResidencyInterval]
    )
    """Residency intervals of tensors that are already placed in another one."""

    def operands_to_copy(self, group_index: int) -> Iterator[CopiedOperand]:
        """Yield the concat operands that a group must copy; record others as placed."""
        if self.level_use.tiling_of_group(group_index).loops:
            return
        for root in _outermost_concats_of(self.level_use.groups[group_index]):
            operands = self._resident_operands(group_index, root)
            operands.sort(key=lambda operand: len(operand.live_groups))
            while operands and not self._place_operands_in_result(
                group_index, root.results[0], operands
            ):
                operand = operands.pop()
                yield CopiedOperand(operand.op, operand.operand_index, CROWDED)
            self._placed_intervals.update(
                operand.residency_interval for operand in operands
            )

    def _resident_operands(
        self, group_index: int, concat: ConcatLikeInterface
    ) -> list[_ResidentOperand]:
        """Return the concat operands that are live outside of the group, too."""
        group = self.level_use.groups[group_index]
        resident: dict[SSAValue, _ResidentOperand] = {}
        for op, operand, value in _concat_leaves(concat, {*group.yielded_values}):
            interval = self._residency_interval_of(group_index, value)
            if interval is not None and interval not in self._placed_intervals:
                resident_operand = _ResidentOperand(
                    op, operand, value, interval, self._live_groups_of(interval)
                )
                resident.setdefault(value, resident_operand)
        return list(resident.values())

    def _live_groups_of(self, residency_interval: ResidencyInterval) -> range:
        """
        Return the groups during which a tensor's buffer is live, as extended by placed
        operands, else its residency interval.
        """
        return self._live_groups_by_interval.get(
            residency_interval,
            range(residency_interval.first_group, residency_interval.last_group + 1),
        )

    def _residency_interval_of(
        self, group_index: int, value: SSAValue
    ) -> ResidencyInterval | None:
        """
        Return the residency interval of a value of a group in the level, or None if it
        is live only inside of the group.
        """
        group = self.level_use.groups[group_index]
        arguments = list[SSAValue](group.body.block.args)
        if value in arguments:
            operand = arguments.index(value)
            if group.plan is None or operand not in group.plan.resident_operands:
                return None
            return self.level_use.residency_interval_of(
                group.inputs[operand], group_index
            )
        if value not in group.yielded_values:
            return None
        result = group.results[list(group.yielded_values).index(value)]
        interval = self.level_use.residency_interval_of(result, group_index)
        return interval or ResidencyInterval(
            self.level_use.tensor_bytes_of(result), group_index, group_index
        )

    def _place_operands_in_result(
        self, group_index: int, result: SSAValue, operands: Sequence[_ResidentOperand]
    ) -> bool:
        """Place operands in the concat result. Return `False` if there is no room."""
        interval = self._residency_interval_of(group_index, result)
        live_groups = (
            range(group_index, group_index + 1)
            if interval is None
            else self._live_groups_of(interval)
        )
        merged_groups = _cover_live_groups(live_groups, operands)
        size = self.level_use.tensor_bytes_of(result)
        extra_bytes = {
            group: size
            - sum(
                operand.residency_interval.byte_count
                for operand in operands
                if group in operand.live_groups
            )
            for group in merged_groups
            if group not in live_groups
        }
        values = {operand.value for operand in operands}
        rows = _buffers_with_shared_result(
            self.level_use.buffer_rows_of(group_index), result, values
        )
        intervals = [operand.residency_interval for operand in operands]
        used_bytes = self.level_use.bytes_in_use(group_index, rows, intervals)
        if (
            used_bytes > self.level_use.level.capacity
            or not self.level_use.has_room_for(extra_bytes)
        ):
            return False
        self.level_use.place_operands_in_result(
            group_index, rows, intervals, extra_bytes
        )
        if interval is not None:
            self._live_groups_by_interval[interval] = merged_groups
        return True


def _cover_live_groups(
    live_groups: range, operands: Sequence[_ResidentOperand]
) -> range:
    """Return the groups from the first to the last that any of the ranges has."""
    first = min(live_groups.start, *(operand.live_groups.start for operand in operands))
    stop = max(live_groups.stop, *(operand.live_groups.stop for operand in operands))
    return range(first, stop)


def _buffers_with_shared_result(
    rows: Sequence[BufferRow], result: SSAValue, operands: AbstractSet[SSAValue]
) -> list[BufferRow]:
    """
    Return the buffers of a group without those of the operands `operands`, which the
    buffer of the result contains, and with the live range of the result extended to
    theirs.
    """
    operand_rows = [row for row in rows if row.value in operands]
    with_rows = {row.value for row in operand_rows}
    start, end = _live_range_of_whole_group(rows)
    if operands <= with_rows:
        start = min(row.start_step for row in operand_rows)
        end = max(row.end_step for row in operand_rows)
    return [
        row._replace(
            start_step=min(start, row.start_step), end_step=max(end, row.end_step)
        )
        if row.value is result
        else row
        for row in rows
        if row.value not in operands
    ]


def _live_range_of_whole_group(rows: Sequence[BufferRow]) -> tuple[int, int]:
    """Return the live range of a buffer that is live throughout a group."""
    return min(row.start_step for row in rows), max(row.end_step for row in rows)


def _has_concat(group: graph.GroupOp) -> bool:
    return any(isinstance(op, ConcatLikeInterface) for op in group.body.block.ops)


def _outermost_concats_of(group: graph.GroupOp) -> Iterator[ConcatLikeInterface]:
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
    """
    Yield the concatenations that compute operands of `op`, possibly reshaped, unless
    the group yields their results.
    """
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
