"""
Legality check of the pass `mem-pipeline`: capacity of memory levels for multi-buffered
allocations of a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.mem_liveness import MemLiveness
from tlf.analysis.tiling.group_tiling import TEMPORARY_BYTES
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.dialects.types import byte_count
from tlf.passes.mem.mem_split_maps import is_constant_or_terminator
from tlf.support.allocation import (
    LiveBytes,
    LiveInterval,
    align_offset,
    peak_live_bytes,
)


@dataclass(frozen=True)
class MultibufferCapacity:
    """Live bytes of a loop whose body has multi-buffered allocations."""

    loop: Operation
    body: Block
    """Body of the innermost loop of the nest."""
    multibuffered: Collection[mem.AllocOp]
    slot_count: int
    liveness: MemLiveness

    @staticmethod
    def create_for_loop(
        loop: Operation,
        body: Block,
        allocations: Collection[mem.AllocOp],
        slot_count: int,
    ) -> MultibufferCapacity:
        """
        Return the `MultibufferCapacity` of a loop, with live ranges analyzed in its
        function.
        """
        op = loop
        while not isinstance(op, func.FuncOp):
            parent = op.parent_op()
            assert parent is not None
            op = parent
        liveness = MemLiveness.of_loop(loop, op.body)
        return MultibufferCapacity(loop, body, allocations, slot_count, liveness)

    def has_capacity_for_live_buffers(self, level: Level) -> bool:
        """
        Return `True` if the buffers that are live at each step fit into a level.
        """
        return peak_live_bytes(self._live_intervals(level)) <= level.capacity

    def has_capacity_without_sharing(self, level: Level) -> bool:
        """
        Return `True` if all buffers that are live in the loop, and intermediates of
        maps, fit into a level without sharing.
        """
        first, last = self.liveness.step_ranges[self.loop]
        needed = LiveBytes(self._live_intervals(level)).total_during(first, last + 1)
        inner = [
            _intermediate_bytes_of_map(op)
            for op in self.body.walk()
            if op.parent is not self.body
        ]
        needed += sum(map(_intermediate_bytes_of_map, self.body.ops)) + max(
            inner, default=0
        )
        return needed <= level.capacity

    def _live_intervals(self, level: Level) -> Iterator[LiveInterval]:
        """Yield the live ranges of the buffers in a level, with their bytes."""
        for op in self.liveness.step_ranges:
            if not isinstance(op, mem.AllocOp) or op.level != level.name:
                continue
            size = align_offset(byte_count(op.buffer_type), level.alignment)
            live = self.liveness.live_range_of(op.buffer)
            if op in self.multibuffered:
                size, live = (
                    size * self.slot_count,
                    self.liveness.step_ranges[self.loop],
                )
            if live is not None:
                yield live[0], live[1] + 1, size


def _intermediate_bytes_of_map(op: Operation) -> int:
    """Return the bytes of intermediate values of a map; 0 for other operations."""
    if not isinstance(op, mem.MapOp):
        return 0
    steps = [each for each in op.body.block.ops if not is_constant_or_terminator(each)]
    return prod(op.domain_extents) * TEMPORARY_BYTES * max(0, len(steps) - 1)
