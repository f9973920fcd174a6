"""
Cost model of multi-buffering: capacity check for the buffers of a nest of the schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from tlf.dialects.target import Level
from tlf.planner.cost.program.instruction_nests import Buffer, Instruction, Item, Nest
from tlf.support.allocation import LiveBytes, LiveInterval, align, peak_live_bytes

Span = tuple[int, int]


@dataclass
class LiveRanges:
    """Live ranges of buffers in instruction order."""

    nests: dict[Nest, Span]
    buffers: dict[Buffer, Span]
    steps: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    uses: dict[Buffer, tuple[Instruction, Instruction]] = field(
        default_factory=dict[Buffer, tuple[Instruction, Instruction]]
    )
    """First and last instruction that accesses each buffer."""

    @staticmethod
    def of(items: Sequence[Item]) -> LiveRanges:
        """Return the live ranges of a schedule."""
        ranges = LiveRanges({}, {})
        instructions: list[tuple[Instruction, int, tuple[Nest, ...]]] = []
        ranges._number_items(items, 0, (), instructions)
        for step, position, nests in instructions:
            for access in step.reads_and_writes:
                first, _ = ranges.uses.get(access.buffer, (step, step))
                ranges.uses[access.buffer] = first, step
            ended = (each for move in step.finishes for each in move.reads_and_writes)
            for access in (*step.reads_and_writes, *ended):
                ranges._extend_range(access.buffer, position, nests)
        return ranges

    def _number_items(
        self,
        items: Sequence[Item],
        at: int,
        around: tuple[Nest, ...],
        touched: list[tuple[Instruction, int, tuple[Nest, ...]]],
    ) -> int:
        for item in items:
            if isinstance(item, Instruction):
                touched.append((item, at, around))
                self.steps[item] = at
                at += 1
                continue
            first = at
            at = self._number_items(item.body, at + 1, (*around, item), touched) + 1
            self.nests[item] = first, at - 1
        return at

    def _extend_range(self, buffer: Buffer, at: int, around: tuple[Nest, ...]) -> None:
        """
        Extend the live range of a buffer; a buffer from outside of a loop is live in
        all of the loop.
        """
        span = at, at
        for nest in around:
            if buffer.home is None or not buffer.home.is_within(nest):
                span = self.nests[nest]
                break
        known = self.buffers.get(buffer, span)
        self.buffers[buffer] = min(known[0], span[0]), max(known[1], span[1])


@dataclass
class NestCapacity:
    """Live buffers during a nest, with slots for some buffers of its body."""

    spans: LiveRanges
    nest: Nest
    slotted: Collection[Buffer]
    slots: int

    def has_room_shared(self, level: Level) -> bool:
        """Return `True` if the live bytes at every instruction fit in a level."""
        return peak_live_bytes(self._live_intervals(level)) <= level.capacity

    def has_room_unshared(self, level: Level) -> bool:
        """
        Return `True` if all buffers that are live in the nest fit without sharing.
        """
        first, last = self.spans.nests[self.nest]
        needed = LiveBytes(self._live_intervals(level)).total_during(first, last + 1)
        steps = [step for step in self.nest.body if isinstance(step, Instruction)]
        inner = [step.spare for step in self.nest.instructions() if step not in steps]
        needed += sum(step.spare for step in steps) + max(inner, default=0)
        return needed <= level.capacity

    def _live_intervals(self, level: Level) -> Iterator[LiveInterval]:
        for buffer, (first, last) in self.spans.buffers.items():
            if buffer.level != level.name:
                continue
            size = align(buffer.bytes, level.alignment) * buffer.multibuffer_count
            if buffer in self.slotted:
                size *= self.slots
                first, last = self.spans.nests[self.nest]
            elif buffer.multibuffer_nest is not None:
                first, last = self.spans.nests[buffer.multibuffer_nest]
            yield first, last + 1, size
