"""
Legality check of the pass `mem-prefetch`: target positions of hoisted loads, limited by
the live bytes of a level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import func

from tlf.analysis.buffers.mem_liveness import MemLiveness
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.passes.mem.mem_plan import to_allocation_buffer
from tlf.passes.mem.prefetching.load_sequence import LoadSequence
from tlf.support.allocation import Buffer, LoadHoisting, allocate_program_buffers


@dataclass(frozen=True)
class LevelBuffers:
    """Allocations of a function in one memory level, with their live ranges."""

    level: Level
    liveness: MemLiveness
    buffers: Mapping[mem.AllocOp, Buffer]

    @staticmethod
    def collect_from_function(function: func.FuncOp, level: Level) -> LevelBuffers:
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
        """
        True if the allocator of `mem-plan` fits all buffers into the level's capacity.
        """
        allocation = allocate_program_buffers(
            list(self.buffers.values()), self.level.capacity
        )
        return allocation.peak <= self.level.capacity

    def target_positions_of_loads(
        self, load_sequence: LoadSequence
    ) -> Iterator[dict[int, int]]:
        """
        Yield target positions of loads: the earliest ones at which the buffers fit,
        then those for smaller shares of the capacity. Loads that do not move are not
        included.
        """
        indices = {op: index for index, op in enumerate(self.buffers)}
        return LoadHoisting(
            list(self.buffers.values()),
            [self.liveness.step_ranges[op] for op in load_sequence.ops],
            {
                position: indices[_allocation_filled_by_load(load)]
                for position, load in load_sequence.loads.items()
            },
            self.level.capacity,
            load_sequence.has_barrier_to_load,
            keeps_order=False,
        ).candidate_target_positions()


def _allocation_filled_by_load(load: mem.DmaOp) -> mem.AllocOp:
    owner = root_buffer_of(load.destination).owner
    assert isinstance(owner, mem.AllocOp)
    return owner
