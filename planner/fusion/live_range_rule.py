"""
Planning of fusion: rule for live ranges, on operands that a fused group keeps in memory
while other groups run.

Fused groups run where the last one of them did. What the earlier ones read is live
until then; what they stored for later ones need not be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.interfaces import ConstantInterface, ViewInterface
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.fusion.stored_live_bytes import (
    readers_through_views,
    viewed_value_of,
)
from tlf.planner.settings.search_budgets import PARTITION

KEPT = "what it reads would be kept in memory while other groups run"


@dataclass(frozen=True)
class LiveRangeRule:
    """Rule for the live ranges of a block; `position` has those of its operations."""

    block: Block
    position: Mapping[Operation, int]

    def live_range_objection(
        self, parts: Sequence[Part], groups: Mapping[Operation, Part]
    ) -> str | None:
        """
        Return the reason why groups may not be fused, or None if they may. While other
        groups run between them, more operands of earlier ones would be live only for
        the fused group than results are live only for later ones, in bytes.
        """
        parts = sorted(parts, key=lambda part: self.position[part[-1]])
        inside = {op for part in parts for op in part}
        for count, (one, other) in enumerate(pairwise(parts), 1):
            earlier = {op for part in parts[:count] for op in part}
            saved = self._bytes_stored_for(inside - earlier, earlier, inside)
            before = self.position[other[-1]]
            kept = self._bytes_read_last(earlier, inside, before, groups)
            if kept <= PARTITION.max_kept_ratio * saved:
                continue
            # The fused group runs before all others that read its results.
            last = min(before, self._first_reading_position(earlier, inside, groups))
            if self._runs_between(self.position[one[-1]], last, inside, groups):
                return KEPT
        return None

    def _bytes_stored_for(
        self,
        later: Collection[Operation],
        earlier: Collection[Operation],
        inside: Collection[Operation],
    ) -> int:
        """
        Return the bytes of results of earlier operations that only operations of the
        fused group read, among them later ones.
        """
        results = (result for op in earlier for result in op.results)
        readers = ((each, set(readers_through_views(each))) for each in results)
        return size_in_bytes(
            [
                value
                for value, users in readers
                if not users.isdisjoint(later) and users.issubset(inside)
            ]
        )

    def _bytes_read_last(
        self,
        earlier: Collection[Operation],
        inside: Collection[Operation],
        before: int,
        groups: Mapping[Operation, Part],
    ) -> int:
        """
        Return the bytes of values from outside of the fused group that earlier
        operations read, but no operation that runs at position `before` or later.
        """
        operands = {viewed_value_of(each) for op in earlier for each in op.operands}
        return size_in_bytes(
            [
                value
                for value in operands
                if value.owner not in inside
                and value not in self._lasting_values
                and all(
                    reader in earlier or self._end_of(reader, groups) < before
                    for reader in readers_through_views(value)
                )
            ]
        )

    def _first_reading_position(
        self,
        earlier: Collection[Operation],
        inside: Collection[Operation],
        groups: Mapping[Operation, Part],
    ) -> int:
        """Return where the first other group runs that reads earlier results."""
        results = (result for op in earlier for result in op.results)
        readers = {reader for each in results for reader in readers_through_views(each)}
        return min(
            (self._end_of(each, groups) for each in readers if each not in inside),
            default=len(self.position),
        )

    def _runs_between(
        self,
        first: int,
        last: int,
        inside: Collection[Operation],
        groups: Mapping[Operation, Part],
    ) -> bool:
        """Return `True` if another group runs between two positions."""
        ends = self._operations[first + 1 : max(first + 1, last)]
        return any(
            member not in inside and not isinstance(member, ViewInterface)
            for op in ends
            if op in groups and groups[op][-1] is op
            for member in groups[op]
        )

    def _end_of(self, op: Operation, groups: Mapping[Operation, Part]) -> int:
        """Return the position of the last operation of a group."""
        last = groups[op][-1] if op in groups else op
        return self.position.get(last, len(self.position))

    @cached_property
    def _operations(self) -> Sequence[Operation]:
        """Operations of the block, by position."""
        return list(self.position)

    @cached_property
    def _lasting_values(self) -> set[SSAValue]:
        """Values that are in memory throughout: arguments, and equal at every call."""
        constants = (op for op in self.block.ops if isinstance(op, ConstantInterface))
        return {
            *self.block.args,
            *call_invariant_values_of(self.block),
            *(result for op in constants for result in op.results),
        }
