"""Planning of fusion: bytes of the values that groups of a block store, over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.tiling.group_results import results_used_outside
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.interfaces import ConstantInterface, ViewInterface
from tlf.planner.fusion.producer_closure import Part


@dataclass(frozen=True)
class StoredLiveBytes:
    """
    Bytes of the results that groups of a block store, without those that are equal at
    every call, while each operation runs. A group runs where its last operation is.
    """

    position: Mapping[Operation, int]
    bytes_by_position: list[int]
    input_bytes: int
    """Bytes of the arguments that are no weights."""

    @staticmethod
    def of_groups(block: Block, groups: Mapping[Operation, Part]) -> StoredLiveBytes:
        """Return the live bytes of a block with groups by operation."""
        position = {op: number for number, op in enumerate(block.ops)}
        changes = [0] * (len(position) + 1)
        invariant = call_invariant_values_of(block)

        def end_of(op: Operation) -> int:
            last = groups[op][-1] if op in groups else op
            return position.get(last, len(position) - 1)

        for value in _stored_values(block, groups):
            if value in invariant or not isinstance(value.owner, Operation):
                continue
            first = end_of(value.owner)
            last = max(map(end_of, readers_through_views(value)), default=first)
            size = size_in_bytes([value])
            changes[first] += size
            changes[max(first, last) + 1] -= size
        inputs = size_in_bytes([each for each in block.args if each not in invariant])
        return StoredLiveBytes(position, list(accumulate(changes)), inputs)

    @property
    def peak(self) -> int:
        """Most bytes that are live at once."""
        return max(self.bytes_by_position)

    def bytes_beside(self, part: Part) -> int:
        """Return the live bytes while a group runs, without those of its results."""
        live = self.bytes_by_position[self.position[part[-1]]]
        return max(0, live - size_in_bytes(results_used_outside(part)))


def _stored_values(
    block: Block, groups: Mapping[Operation, Part]
) -> Iterator[SSAValue]:
    """Yield the results of groups, and of other operations but views and constants."""
    for op in block.ops:
        if op not in groups:
            if not isinstance(op, ViewInterface | ConstantInterface):
                yield from op.results
        elif groups[op][-1] is op:
            yield from results_used_outside(groups[op])


def viewed_value_of(value: SSAValue) -> SSAValue:
    """Return the value that views show."""
    while isinstance(value.owner, ViewInterface):
        value = value.owner.operands[0]
    return value


def readers_through_views(value: SSAValue) -> Iterator[Operation]:
    """Yield the operations that read a value, directly or through views."""
    for use in value.uses:
        if isinstance(use.operation, ViewInterface):
            yield from readers_through_views(use.operation.results[0])
        else:
            yield use.operation
