"""
Cost model of the live ranges of values in a GPU program's registers: positions of
operations, and peaks of live bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel
from tlf.dialects.interfaces import ReductionInterface
from tlf.dialects.types import itemsize_of

SOON = 2.0**-8
"""Distance between the positions of two operations that leaves room for another."""


class _LiveRange(NamedTuple):
    """Positions at which a value is defined and last used."""

    first: float
    last: float


class ReductionPeak(NamedTuple):
    """Values that are live during a reduction."""

    op: Operation
    held: Sequence[SSAValue]
    """Values that are live as a whole."""
    entering: Sequence[SSAValue]
    """Values that are streamed into the reduction."""
    leaving: Sequence[SSAValue]
    """Values that are defined while elements are streamed."""

    def live_bytes(self, sizes: Mapping[SSAValue, int]) -> int:
        """Return the live bytes, given the bytes of each value."""
        entering = sum([sizes[each] for each in self.entering])
        leaving = sum([sizes[each] for each in self.leaving])
        return sum([sizes[each] for each in self.held]) + max(entering, leaving)


@dataclass
class RegisterLiveRanges:
    """
    Live ranges of the values in registers, for all tile sizes with which the same
    values are in registers.

    Chains of elementwise operations stream elements from inputs to results; operands of
    reductions, and values used after them, are live as whole tiles.
    """

    reductions: Sequence[ReductionPeak]
    """Values that are live during each reduction of the group."""

    @staticmethod
    def of_tiling(
        tiling: GroupTiling, values: Collection[SSAValue]
    ) -> RegisterLiveRanges:
        """Return the live ranges of the values in registers."""
        analysis = _LiveRangeAnalysis(tiling)
        ranges = {each: analysis.live_range_of(each) for each in values}
        return RegisterLiveRanges(
            [
                analysis.peak_during_reduction(op, ranges)
                for op, tiled in tiling.tiles.items()
                if tiled.facts.is_accumulating
            ]
        )


class _LiveRangeAnalysis:
    def __init__(self, tiling: GroupTiling) -> None:
        self.tiling = tiling
        self.positions: dict[Operation, float] = {}
        """
        Position of each operation in the order of computation. A narrowing operation
        follows its operand and the preceding product immediately.
        """
        self._assign_positions()

    def _assign_positions(self) -> None:
        product, order = 0.0, self.positions
        for position, op in enumerate(self.tiling.tiles):
            if self._facts_of(op).is_product:
                product = position
            owners = (each.owner for each in op.operands)
            operand_positions = [
                order[e] for e in owners if isinstance(e, Operation) and e in order
            ]
            if len(op.operands) == len(operand_positions) == 1 and self._is_narrowing(
                op
            ):
                order[op] = max(operand_positions[0], product) + SOON
            else:
                order[op] = position

    def _is_narrowing(self, op: Operation) -> bool:
        """Return `True` if an elementwise result has fewer bytes than the operand."""
        if not self._facts_of(op).is_elementwise:
            return False
        return itemsize_of(op.results[0]) < itemsize_of(op.operands[0])

    def live_range_of(self, value: SSAValue) -> _LiveRange:
        """Return the live range of a value; results are stored immediately."""
        users = [use.operation for use in value.uses if use.operation in self.positions]
        last = max((self.positions[user] for user in users), default=-1)
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.positions:
            first = 0 if self._is_loop_carried(owner) else self.positions[owner]
        elif any(self.tiling.tiles[e].loop_level is not LoopLevel.OUTER for e in users):
            first = 0
        else:
            first = min((self.positions[user] for user in users), default=0)
        return _LiveRange(first, last)

    def _is_loop_carried(self, op: Operation) -> bool:
        """Return `True` if the loop of a cascade carries the result of an operation."""
        if (cascade := self.tiling.cascade) is None:
            return False
        return op is self.tiling.anchor or op in cascade.steps

    def peak_during_reduction(
        self, op: Operation, ranges: Mapping[SSAValue, _LiveRange]
    ) -> ReductionPeak:
        """Return the values that are live during a reduction."""
        streamed, position = self._operations_streamed_into(op), self.positions[op]
        produced = {result for each in streamed for result in each.results}
        consumed = {operand for each in streamed for operand in each.operands}
        ends = {self.positions[each] + SOON for each in streamed}
        live = {
            each for each, (first, last) in ranges.items() if first <= position <= last
        }
        entering = {each for each in consumed - produced if each in ranges} - live
        leaving = {each for each in live if ranges[each].first in ends} - consumed
        return ReductionPeak(
            op, [*(live - produced - leaving)], [*entering], [*leaving]
        )

    def _operations_streamed_into(self, op: Operation) -> set[Operation]:
        """
        Return the elementwise operations that stream their elements into a reduction.
        """
        streamed = set[Operation]()
        if not isinstance(op, ReductionInterface):
            return streamed
        positions = self.positions
        for each in reversed(
            [other for other, position in positions.items() if position < positions[op]]
        ):
            users = {use.operation for result in each.results for use in result.uses}
            is_stored = any(result in self.tiling.results for result in each.results)
            users -= {
                user for user in users if positions.get(user) == positions[each] + SOON
            }
            has_only_stream_users = (
                bool(users) and users <= {op, *streamed} and not is_stored
            )
            if has_only_stream_users and self._facts_of(each).is_elementwise:
                streamed.add(each)
        return streamed

    def _facts_of(self, op: Operation) -> OpFacts:
        return self.tiling.tiles[op].facts
