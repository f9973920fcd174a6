"""
Cost model of NPU tile programs, on its schedule instead of IR: buffers that share
bytes, at offsets as `mem-plan` assigns them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping, Sequence
from itertools import combinations

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.cost.program.instruction_nests import Buffer, Instruction, Item
from tlf.planner.cost.program.live_ranges import LiveRangeAnalysis, LiveRanges
from tlf.support.allocation import (
    Allocation,
    BufferUse,
    Loops,
    align_offset,
    allocate_program_buffers,
    pipeline_stage_of_engine,
)
from tlf.support.allocation import Buffer as Live

Sharing = Mapping[Buffer, Sequence[Buffer]]
"""Buffers whose bytes overlap those of each buffer."""

KnownAllocations = MutableMapping[Hashable, Allocation]
"""Allocations by live ranges, uses and capacity."""


def find_shared_buffers(
    items: Sequence[Item],
    target: TargetSpec,
    known_allocations: KnownAllocations | None = None,
) -> Sharing:
    """
    Return the buffers that share bytes in the levels of a target. The outermost level
    is excluded, as its capacity is sufficient. Allocations are added to the known ones.
    """
    allocations: KnownAllocations = (
        {} if known_allocations is None else known_allocations
    )
    live_ranges = LiveRangeAnalysis().ranges_of(items)
    shared: dict[Buffer, list[Buffer]] = {}
    for level in target.levels.values():
        if level is not target.outermost_level:
            _find_shared_in_level(
                buffers_in_level(live_ranges, level),
                level,
                live_ranges,
                list(target.levels),
                shared,
                allocations,
            )
    return shared


def buffers_in_level(live_ranges: LiveRanges, level: Level) -> list[Buffer]:
    """Return the buffers of a level in program order."""
    buffers = [each for each in live_ranges.buffer_ranges if each.level == level.name]
    return sorted(buffers, key=lambda each: each.level_position)


def to_allocation_buffers(
    buffers: Sequence[Buffer], level: Level, live_ranges: LiveRanges
) -> list[Live]:
    """Return buffers in the form of the static allocator."""
    return [_to_allocation_buffer(each, level, live_ranges) for each in buffers]


def _find_shared_in_level(
    buffers: Sequence[Buffer],
    level: Level,
    live_ranges: LiveRanges,
    level_names: Sequence[str],
    sharing: dict[Buffer, list[Buffer]],
    allocations: KnownAllocations,
) -> None:
    """
    Allocate the buffers of a level statically, and add each pair with overlapping bytes
    to `sharing`.
    """
    lives = to_allocation_buffers(buffers, level, live_ranges)
    uses = [_allocator_use_of(each, live_ranges, level_names) for each in buffers]
    key = tuple(lives), tuple(uses), level.capacity
    if (allocation := allocations.get(key)) is None:
        allocation = allocate_program_buffers(lives, level.capacity, uses)
        allocations[key] = allocation
    ranges = [
        (buffer, offset, offset + live.size)
        for buffer, live, offset in zip(buffers, lives, allocation.offsets, strict=True)
    ]
    for (one, low, high), (other, start, end) in combinations(ranges, 2):
        if low < end and start < high:
            sharing.setdefault(one, []).append(other)
            sharing.setdefault(other, []).append(one)


def _allocator_use_of(
    buffer: Buffer, live_ranges: LiveRanges, level_names: Sequence[str]
) -> BufferUse:
    """Return the first and last use of a buffer, as input of the static allocator."""
    first, last = live_ranges.first_uses[buffer], live_ranges.last_uses[buffer]
    return BufferUse(
        live_ranges.instruction_positions[first],
        live_ranges.instruction_positions[last],
        _engine_stage_of(first, level_names),
        _engine_stage_of(last, level_names),
        _surrounding_loop_ranges(buffer, live_ranges),
    )


def _engine_stage_of(instruction: Instruction, level_names: Sequence[str]) -> int:
    """
    Return the pipeline stage of the engine that runs an instruction: a move between two
    levels, a product or other computation.
    """
    move = None
    if instruction.move_endpoints is not None:
        source, destination = (
            level_names.index(each.level) for each in instruction.move_endpoints
        )
        move = source, destination
    return pipeline_stage_of_engine(
        len(level_names), move, is_product=instruction.is_product
    )


def _surrounding_loop_ranges(buffer: Buffer, live_ranges: LiveRanges) -> Loops:
    """Return the live ranges of the nests around a buffer, outermost first."""
    nest = (
        buffer.allocation_nest
        if buffer.multibuffer_nest is None
        else buffer.multibuffer_nest.surrounding_nest
    )
    ranges: list[tuple[int, int]] = []
    while nest is not None:
        first, last = live_ranges.nest_ranges[nest]
        ranges.append((first, last + 1))
        nest = nest.surrounding_nest
    return tuple(ranges[::-1])


def _to_allocation_buffer(
    buffer: Buffer, level: Level, live_ranges: LiveRanges
) -> Live:
    """
    Return the bytes and live range of a buffer; a multi-buffer has all its slots, live
    throughout its nest.
    """
    size = buffer.bytes
    if buffer.multibuffer_nest is not None:
        size = align_offset(size, level.alignment) * buffer.multibuffer_count
        first, last = live_ranges.nest_ranges[buffer.multibuffer_nest]
    else:
        first, last = live_ranges.buffer_ranges[buffer]
    return Live.live_during(size, first, last + 1, level.alignment)
