"""
Cost model of NPU programs: buffers that share bytes, at offsets as `mem-plan` assigns
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.cost.program.instruction_nests import Buffer, Instruction, Item
from tlf.planner.cost.program.multibuffer_capacity import LiveRanges
from tlf.support.allocation import (
    Allocation,
    Loops,
    Use,
    align,
    allocate_program,
    engine_stage,
)
from tlf.support.allocation import Buffer as Live

Sharing = Mapping[Buffer, Sequence[Buffer]]
"""Buffers whose bytes overlap those of each buffer."""


def find_shared_buffers(items: Sequence[Item], target: TargetSpec) -> Sharing:
    """
    Return the buffers that share bytes in the levels of a target. The outermost level
    is excluded, as its capacity is sufficient.
    """
    live_ranges = LiveRanges.of(items)
    shared: dict[Buffer, list[Buffer]] = {}
    for level in target.levels.values():
        if level is not target.outermost:
            _find_shared_in_level(
                buffers_in_level(live_ranges, level),
                level,
                live_ranges,
                list(target.levels),
                shared,
            )
    return shared


def buffers_in_level(spans: LiveRanges, level: Level) -> list[Buffer]:
    """Return the buffers of a level in program order."""
    buffers = [each for each in spans.buffers if each.level == level.name]
    return sorted(buffers, key=lambda each: each.order)


def to_allocation_buffers(
    buffers: Sequence[Buffer], level: Level, spans: LiveRanges
) -> list[Live]:
    """Return buffers in the form of the static allocator."""
    return [_to_allocation_buffer(each, level, spans) for each in buffers]


def allocate_buffers(
    lives: Sequence[Live], level: Level, uses: Sequence[Use] | None = None
) -> Allocation:
    """Return the offsets that the static allocator assigns to buffers."""
    return allocate_program(lives, level.capacity, uses)


def _find_shared_in_level(
    buffers: Sequence[Buffer],
    level: Level,
    spans: LiveRanges,
    levels: Sequence[str],
    found: dict[Buffer, list[Buffer]],
) -> None:
    lives = to_allocation_buffers(buffers, level, spans)
    uses = [_use_of_buffer(each, spans, levels) for each in buffers]
    allocation = allocate_buffers(lives, level, uses)
    ranges = [
        (buffer, offset, offset + live.size)
        for buffer, live, offset in zip(buffers, lives, allocation.offsets, strict=True)
    ]
    for (one, low, high), (other, start, end) in combinations(ranges, 2):
        if low < end and start < high:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)


def _use_of_buffer(buffer: Buffer, spans: LiveRanges, levels: Sequence[str]) -> Use:
    """Return the uses of a buffer as input of the static allocator."""
    first, last = spans.uses[buffer]
    return Use(
        spans.steps[first],
        spans.steps[last],
        _engine_stage(first, levels),
        _engine_stage(last, levels),
        _loop_ranges(buffer, spans),
    )


def _engine_stage(step: Instruction, levels: Sequence[str]) -> int:
    move = None
    if step.moves is not None:
        source, destination = (levels.index(each.level) for each in step.moves)
        move = source, destination
    return engine_stage(len(levels), move, product=step.product)


def _loop_ranges(buffer: Buffer, spans: LiveRanges) -> Loops:
    """Return the live ranges of the nests around a buffer, outermost first."""
    nest = (
        buffer.home
        if buffer.multibuffer_nest is None
        else buffer.multibuffer_nest.around
    )
    ranges: list[tuple[int, int]] = []
    while nest is not None:
        first, last = spans.nests[nest]
        ranges.append((first, last + 1))
        nest = nest.around
    return ranges[::-1]


def _to_allocation_buffer(buffer: Buffer, level: Level, spans: LiveRanges) -> Live:
    size = buffer.bytes
    if buffer.multibuffer_nest is not None:
        size = align(size, level.alignment) * buffer.multibuffer_count
        first, last = spans.nests[buffer.multibuffer_nest]
    else:
        first, last = spans.buffers[buffer]
    return Live.live_during(size, first, last + 1, level.alignment)
