"""
Cost model of `mem-prefetch`, on its schedule instead of IR: loads outside of loops that
are issued during earlier work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tlf.dialects.target import Level
from tlf.planner.cost.program.buffer_sharing import (
    allocate_buffers,
    buffers_in_level,
    to_allocation_buffers,
)
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    Instruction,
    Item,
    Nest,
    instructions_in,
)
from tlf.planner.cost.program.multibuffer_capacity import LiveRanges
from tlf.support.allocation import LoadHoisting


def hoist_loads(items: list[Item], levels: Sequence[Level]) -> None:
    """
    Hoist loads of a schedule as `mem-prefetch` does. `levels` are in order, innermost
    level first.
    """
    for inner, outer in pairwise(levels):
        sequence = LoadSequence(list(items), inner, outer)
        if not sequence.load_positions:
            continue
        for targets in sequence.candidate_target_positions():
            items[:] = sequence.move_loads_to_targets(targets)
            if _has_static_allocation(items, inner):
                break
        else:
            items[:] = sequence.items


def _has_static_allocation(items: Sequence[Item], level: Level) -> bool:
    """
    Return `True` if the static allocator finds offsets for all buffers of a level.
    """
    spans = LiveRanges.from_schedule(items)
    lives = to_allocation_buffers(buffers_in_level(spans, level), level, spans)
    return allocate_buffers(lives, level).peak <= level.capacity


@dataclass
class LoadSequence:
    """Items of a function among which loads between two levels are hoisted."""

    items: Sequence[Item]
    inner_level: Level
    outer_level: Level
    load_positions: list[int] = field(init=False)
    """Positions of the loads."""

    def __post_init__(self) -> None:
        self.spans = LiveRanges.from_schedule(self.items)
        self.touched = [
            {a.buffer for a in _accesses_of_item(item)} for item in self.items
        ]
        self.written = [
            {access for step in instructions_in([item]) for access in step.writes}
            for item in self.items
        ]
        self.load_positions = [
            index
            for index, item in enumerate(self.items)
            if isinstance(item, Instruction)
            and self._is_load_between_levels(item)
            and _has_own_destination_buffer(item)
        ]
        self.fences = [
            index not in self.load_positions
            and any(map(self._is_load_between_levels, instructions_in([item])))
            for index, item in enumerate(self.items)
        ]
        self.buffers = buffers_in_level(self.spans, self.inner_level)

    def _is_load_between_levels(self, instruction: Instruction) -> bool:
        """
        Return `True` if an instruction moves a box, not by indices, from the outer
        level to the inner one.
        """
        if instruction.move_endpoints is None or instruction.is_indexed:
            return False
        source, destination = instruction.move_endpoints
        return (source.level, destination.level) == (
            self.outer_level.name,
            self.inner_level.name,
        )

    def _load_at(self, position: int) -> Instruction:
        item = self.items[position]
        assert isinstance(item, Instruction)
        return item

    def _buffers_of_load(self, load: int) -> tuple[Buffer, Buffer]:
        ends = self._load_at(load).move_endpoints
        assert ends is not None
        return ends

    def _is_barrier_for_load(self, load: int, position: int) -> bool:
        """Return `True` if a load cannot move before the item at a position."""
        (read,) = self._load_at(load).reads
        return (
            self.fences[position]
            or self._buffers_of_load(load)[1] in self.touched[position]
            or any(read.can_alias(each) for each in self.written[position])
        )

    def candidate_target_positions(self) -> Iterator[dict[int, int]]:
        """
        Yield target positions of loads: as early as capacity allows, then with smaller
        shares of the capacity. Loads that stay are omitted.
        """
        indices = {buffer: index for index, buffer in enumerate(self.buffers)}
        return LoadHoisting(
            to_allocation_buffers(self.buffers, self.inner_level, self.spans),
            [self._live_range_of(item) for item in self.items],
            {
                load: indices[self._buffers_of_load(load)[1]]
                for load in self.load_positions
            },
            self.inner_level.capacity,
            self._is_barrier_for_load,
            keeps_order=True,
        ).candidate_target_positions()

    def _live_range_of(self, item: Item) -> tuple[int, int]:
        """
        Return the first and last instruction position of a nest, or twice that of an
        instruction.
        """
        if isinstance(item, Nest):
            return self.spans.nest_ranges[item]
        return self.spans.instruction_positions[item], self.spans.instruction_positions[
            item
        ]

    def move_loads_to_targets(self, target_by_load: dict[int, int]) -> list[Item]:
        """Return the items reordered: each load right before the item at its target."""
        loads_by_target: dict[int, list[int]] = {}
        for load, target in target_by_load.items():
            loads_by_target.setdefault(target, []).append(load)
        order: dict[int, None] = {}
        for position in range(len(self.items)):
            order.update(dict.fromkeys(loads_by_target.get(position, ())))
            order[position] = None
        return [self.items[position] for position in order]


def _accesses_of_item(item: Item) -> Iterator[BufferAccess]:
    for step in instructions_in([item]):
        yield from step.reads_and_writes


def _has_own_destination_buffer(instruction: Instruction) -> bool:
    """Return `True` if a load fills its own buffer, outside of loops."""
    assert instruction.move_endpoints is not None
    destination = instruction.move_endpoints[1]
    return destination.allocation_nest is None and destination.multibuffer_nest is None
