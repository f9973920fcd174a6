"""
Cost model of `mem-prefetch`: loads outside of loops that are issued during earlier
work.
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


def prefetch_loads(items: list[Item], levels: Sequence[Level]) -> None:
    """
    Hoist loads of a schedule as `mem-prefetch` does. `levels` are in order, innermost
    level first.
    """
    for inner, outer in pairwise(levels):
        sequence = LoadSequence(list(items), inner, outer)
        if not sequence.loads:
            continue
        for targets in sequence.target_positions():
            items[:] = sequence.reorder_items(targets)
            if _is_allocatable(items, inner):
                break
        else:
            items[:] = sequence.items


def _is_allocatable(items: Sequence[Item], level: Level) -> bool:
    """
    Return `True` if the static allocator finds offsets for all buffers of a level.
    """
    spans = LiveRanges.of(items)
    lives = to_allocation_buffers(buffers_in_level(spans, level), level, spans)
    return allocate_buffers(lives, level).peak <= level.capacity


@dataclass
class LoadSequence:
    """Items of a function among which loads between two levels are hoisted."""

    items: Sequence[Item]
    near: Level
    far: Level
    loads: list[int] = field(init=False)
    """Positions of the loads."""

    def __post_init__(self) -> None:
        self.spans = LiveRanges.of(self.items)
        self.touched = [{a.buffer for a in _accesses_of(item)} for item in self.items]
        self.written = [
            {access for step in instructions_in([item]) for access in step.writes}
            for item in self.items
        ]
        self.loads = [
            index
            for index, item in enumerate(self.items)
            if isinstance(item, Instruction)
            and self._is_load(item)
            and _is_independent(item)
        ]
        self.fences = [
            index not in self.loads and any(map(self._is_load, instructions_in([item])))
            for index, item in enumerate(self.items)
        ]
        self.buffers = buffers_in_level(self.spans, self.near)

    def _is_load(self, step: Instruction) -> bool:
        if step.moves is None or step.indexed:
            return False
        source, destination = step.moves
        return (source.level, destination.level) == (self.far.name, self.near.name)

    def _load_at(self, load: int) -> Instruction:
        item = self.items[load]
        assert isinstance(item, Instruction)
        return item

    def _endpoints_of(self, load: int) -> tuple[Buffer, Buffer]:
        ends = self._load_at(load).moves
        assert ends is not None
        return ends

    def _is_barrier(self, load: int, position: int) -> bool:
        """Return `True` if a load cannot move before the item at a position."""
        (read,) = self._load_at(load).reads
        return (
            self.fences[position]
            or self._endpoints_of(load)[1] in self.touched[position]
            or any(read.can_alias(each) for each in self.written[position])
        )

    def target_positions(self) -> Iterator[dict[int, int]]:
        """
        Yield target positions of loads: as early as capacity allows, then with smaller
        shares of the capacity. Loads that stay are omitted.
        """
        indices = {buffer: index for index, buffer in enumerate(self.buffers)}
        return LoadHoisting(
            to_allocation_buffers(self.buffers, self.near, self.spans),
            [self._live_range(item) for item in self.items],
            {load: indices[self._endpoints_of(load)[1]] for load in self.loads},
            self.near.capacity,
            self._is_barrier,
            keeps_order=True,
        ).target_positions()

    def _live_range(self, item: Item) -> tuple[int, int]:
        if isinstance(item, Nest):
            return self.spans.nests[item]
        return self.spans.steps[item], self.spans.steps[item]

    def reorder_items(self, goals: dict[int, int]) -> list[Item]:
        """Return the items with loads at their target positions."""
        loads_by_target: dict[int, list[int]] = {}
        for load, target in goals.items():
            loads_by_target.setdefault(target, []).append(load)
        order: dict[int, None] = {}
        for position in range(len(self.items)):
            order.update(dict.fromkeys(loads_by_target.get(position, ())))
            order[position] = None
        return [self.items[position] for position in order]


def _accesses_of(item: Item) -> Iterator[BufferAccess]:
    for step in instructions_in([item]):
        yield from step.reads_and_writes


def _is_independent(step: Instruction) -> bool:
    """Return `True` if a load fills its own buffer, outside of loops."""
    assert step.moves is not None
    destination = step.moves[1]
    return destination.home is None and destination.multibuffer_nest is None
