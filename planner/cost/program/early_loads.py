"""
Cost model of `mem-prefetch`, on its schedule instead of IR: loads outside of loops that
are issued during earlier work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.cost.program.buffer_sharing import (
    buffers_in_level,
    to_allocation_buffers,
)
from tlf.planner.cost.program.instruction_nests import (
    BufferAccess,
    Instruction,
    Item,
    Nest,
    instructions_in,
)
from tlf.planner.cost.program.live_ranges import LiveRangeAnalysis, LiveRanges, Span
from tlf.planner.prefetching.early_load_selection import (
    order_with_early_loads,
    select_early_loads,
)
from tlf.planner.prefetching.load_facts import (
    LevelLifetimes,
    LoadFacts,
    OperationFacts,
    RegionFacts,
)


def hoist_loads(items: list[Item], target: TargetSpec) -> None:
    """Hoist loads of a schedule as `mem-prefetch` does."""
    live_ranges = LiveRangeAnalysis()
    for inner, outer in pairwise(target.levels.values()):
        sequence = ScheduleLoadSequence(tuple(items), inner, outer, live_ranges)
        targets = select_early_loads(sequence, inner.capacity)
        items[:] = sequence.order_with_early_loads(targets)


@dataclass(frozen=True)
class ScheduleLoadSequence:
    """Items of a function, and its loads from a level to the next inner level."""

    items: Sequence[Item]
    inner_level: Level
    outer_level: Level
    live_ranges: LiveRangeAnalysis = field(default_factory=LiveRangeAnalysis)

    def collect_operations(self) -> Sequence[OperationFacts]:
        """Return the facts of the items."""
        return [self._facts_of(item) for item in self.items]

    def _facts_of(self, item: Item) -> OperationFacts:
        load = self._hoistable_load_of(item)
        return OperationFacts(
            frozenset(access.buffer for access, _ in _accesses_until_end_of(item)),
            frozenset(
                _region_facts_of(access)
                for access, is_write in _accesses_until_end_of(item)
                if is_write
            ),
            load,
            load is None and any(map(self._is_load, instructions_in([item]))),
        )

    def _is_load(self, instruction: Instruction) -> bool:
        """
        Return `True` if an instruction moves a box, not by indices, from the outer
        level to the inner one.
        """
        if instruction.move_endpoints is None or instruction.is_indexed:
            return False
        levels = tuple(end.level for end in instruction.move_endpoints)
        return levels == (self.outer_level.name, self.inner_level.name)

    def _hoistable_load_of(self, item: Item) -> LoadFacts | None:
        """Return a load that fills a buffer outside of loops; else None."""
        if isinstance(item, Nest) or not self._is_load(item):
            return None
        (read,), (write,) = item.reads, item.writes
        if write.buffer.allocation_nest or write.buffer.multibuffer_nest:
            return None
        return LoadFacts(write.buffer, _region_facts_of(read))

    def lifetimes_with_early_loads(self, targets: Mapping[int, int]) -> LevelLifetimes:
        """Return the live ranges after loads are moved to their targets."""
        ranges = self.live_ranges.ranges_of(self.order_with_early_loads(targets))
        buffers = buffers_in_level(ranges, self.inner_level)
        lives = to_allocation_buffers(buffers, self.inner_level, ranges)
        return LevelLifetimes(
            [_live_range_of(item, ranges) for item in self.items],
            dict(zip(buffers, lives, strict=True)),
        )

    def order_with_early_loads(self, targets: Mapping[int, int]) -> list[Item]:
        """Return the items with loads moved to their targets."""
        order = order_with_early_loads(len(self.items), targets)
        return [self.items[position] for position in order]


def _live_range_of(item: Item, ranges: LiveRanges) -> Span:
    """Return the first and last position of a nest, or twice that of an instruction."""
    if isinstance(item, Nest):
        return ranges.nest_ranges[item]
    position = ranges.instruction_positions[item]
    return position, position


def _accesses_until_end_of(item: Item) -> Iterator[tuple[BufferAccess, bool]]:
    """
    Yield the accesses of an item and of the moves that it waits for, with `True` for
    writes.
    """
    for step in instructions_in([item]):
        for accessor in (step, *step.completed_moves):
            yield from accessor.accesses


def _region_facts_of(access: BufferAccess) -> RegionFacts:
    return RegionFacts(access.buffer, access.sections)
