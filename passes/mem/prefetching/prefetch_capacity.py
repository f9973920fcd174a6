"""Target positions of hoisted loads, limited by the live bytes of a level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects import func

from tlf.analysis.buffers.mem_liveness import MemLiveness
from tlf.analysis.buffers.memory_effects import root_of
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.passes.mem.mem_plan import to_allocation_buffer
from tlf.passes.mem.prefetching.load_sequence import LoadSequence
from tlf.support.allocation import (
    Buffer,
    align,
    allocate_program,
    pack_side_by_side,
    pack_within,
    rank_lifetimes,
)
from tlf.support.allocation.allocation_limits import CAPACITY_SHARES, FEASIBILITY_VISITS


@dataclass(frozen=True)
class LevelBuffers:
    """Buffers of a function in one level, with their live ranges."""

    level: Level
    liveness: MemLiveness
    buffers: Mapping[mem.AllocOp, Buffer]

    @staticmethod
    def of(function: func.FuncOp, level: Level) -> LevelBuffers:
        """Collect the buffers of a function with their current live ranges."""
        liveness = MemLiveness.of(function.body)
        buffers = {
            op: to_allocation_buffer(op, liveness, level.alignment)
            for op in function.body.walk()
            if isinstance(op, mem.AllocOp) and op.level == level.name
        }
        return LevelBuffers(level, liveness, buffers)

    @property
    def has_valid_offsets(self) -> bool:
        """True if `mem-plan` finds offsets for all buffers."""
        allocation = allocate_program(list(self.buffers.values()), self.level.capacity)
        return allocation.peak <= self.level.capacity

    def target_positions(self, line: LoadSequence) -> Iterator[dict[mem.DmaOp, int]]:
        """
        Yield target positions of loads: the earliest ones at which the buffers fit,
        then those for smaller shares of the capacity. Loads that do not move are not
        included.
        """
        for share in CAPACITY_SHARES:
            positions = self._positions_within(line, int(self.level.capacity * share))
            if positions and self._is_likely_allocatable(line, positions):
                yield positions

    def _positions_within(self, line: LoadSequence, limit: int) -> dict[mem.DmaOp, int]:
        """
        Return the target positions of loads with at most `limit` live bytes.
        """
        live = self._peak_live_bytes(line)
        positions: dict[mem.DmaOp, int] = {}
        first = 0
        for load in line.loads:
            start = goal = line.position[load]
            buffer = self.buffers[_allocation_of(load)]
            size = align(buffer.size, buffer.alignment)
            while (
                goal > first
                and live[goal - 1] + size <= limit
                and not line.has_barrier_at(load, goal - 1)
            ):
                goal -= 1
                live[goal] += size
            first = goal
            if goal < start:
                positions[load] = goal
        return positions

    def _peak_live_bytes(self, line: LoadSequence) -> list[int]:
        """Return the peak of the live bytes during each operation of a sequence."""
        steps = 2 + max(
            (self.liveness.step_ranges[op][1] for op in line.ops), default=0
        )
        changes = [0] * (steps + 1)
        for buffer in self.buffers.values():
            for span in buffer.spans:
                size = align(buffer.size, buffer.alignment)
                changes[span.start] += size
                changes[span.end] -= size
        totals = list(accumulate(changes))
        return [
            max(totals[first : last + 1])
            for first, last in (self.liveness.step_ranges[op] for op in line.ops)
        ]

    def _is_likely_allocatable(
        self, line: LoadSequence, goals: Mapping[mem.DmaOp, int]
    ) -> bool:
        """
        Return `True` if offset assignment is likely to succeed with loads at their
        target positions.
        """
        hoisted = dict(self.buffers)
        for load, goal in goals.items():
            op = _allocation_of(load)
            (span,) = hoisted[op].spans
            first = min(span.start, self.liveness.step_ranges[line.ops[goal]][0])
            hoisted[op] = Buffer.live_during(
                hoisted[op].size, first, span.end, hoisted[op].alignment
            )
        buffers = rank_lifetimes(list(hoisted.values()))
        if pack_side_by_side(buffers).peak <= self.level.capacity:
            return True
        return pack_within(buffers, self.level.capacity, FEASIBILITY_VISITS) is not None


def _allocation_of(load: mem.DmaOp) -> mem.AllocOp:
    owner = root_of(load.destination).owner
    assert isinstance(owner, mem.AllocOp)
    return owner
