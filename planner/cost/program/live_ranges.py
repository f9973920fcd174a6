"""
Cost model of NPU tile programs: live ranges of the buffers of its schedule, composed of
those of its items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.planner.cost.program.instruction_nests import Buffer, Instruction, Item, Nest

Span = tuple[int, int]


@dataclass
class LiveRanges:
    """Live ranges of buffers in instruction order."""

    nest_ranges: dict[Nest, Span] = field(default_factory=dict[Nest, Span])
    buffer_ranges: dict[Buffer, Span] = field(default_factory=dict[Buffer, Span])
    instruction_positions: dict[Instruction, int] = field(
        default_factory=dict[Instruction, int]
    )
    first_uses: dict[Buffer, Instruction] = field(
        default_factory=dict[Buffer, Instruction]
    )
    """First instruction that accesses each buffer."""
    last_uses: dict[Buffer, Instruction] = field(
        default_factory=dict[Buffer, Instruction]
    )
    """Last instruction that accesses each buffer."""
    length: int = 0
    """Number of positions: of instructions, and of both ends of nests."""

    def add_part(self, part: LiveRanges) -> None:
        """Number the items of a part from the end on, and extend the ranges."""
        start, known = self.length, self.buffer_ranges
        self.length += part.length
        for buffer, (first, last) in part.buffer_ranges.items():
            begin = known[buffer][0] if buffer in known else start + first
            known[buffer] = begin, start + last
        for nest, (first, last) in part.nest_ranges.items():
            self.nest_ranges[nest] = start + first, start + last
        for step, position in part.instruction_positions.items():
            self.instruction_positions[step] = start + position
        for buffer, step in part.first_uses.items():
            self.first_uses.setdefault(buffer, step)
        self.last_uses |= part.last_uses

    def add_instruction(self, instruction: Instruction) -> None:
        """Number an instruction, and extend the ranges of buffers that it uses."""
        position, known = self.length, self.buffer_ranges
        self.length += 1
        self.instruction_positions[instruction] = position
        for access in (*instruction.reads, *instruction.writes):
            buffer = access.buffer
            self.first_uses.setdefault(buffer, instruction)
            self.last_uses[buffer] = instruction
            known[buffer] = known.get(buffer, (position, 0))[0], position
        for move in instruction.completed_moves:
            for access in (*move.reads, *move.writes):
                buffer = access.buffer
                known[buffer] = known.get(buffer, (position, 0))[0], position


@dataclass
class LiveRangeAnalysis:
    """
    Analysis of the live ranges of schedules, in which each nest is examined once until
    it changes.
    """

    _ranges_by_nest: dict[Nest, LiveRanges] = field(
        default_factory=dict[Nest, LiveRanges]
    )

    def ranges_of(self, items: Sequence[Item]) -> LiveRanges:
        """Return the live ranges of the nests and buffers of a schedule."""
        ranges = LiveRanges()
        self._add_items(ranges, items)
        return ranges

    def forget_nest(self, nest: Nest | None) -> None:
        """Forget the live ranges in a nest that changed, and in those around it."""
        while nest is not None:
            self._ranges_by_nest.pop(nest, None)
            nest = nest.surrounding_nest

    def _add_items(self, ranges: LiveRanges, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Nest):
                ranges.add_part(self._ranges_of_nest(item))
            else:
                ranges.add_instruction(item)

    def _ranges_of_nest(self, nest: Nest) -> LiveRanges:
        """
        Return the live ranges in a nest; a buffer from outside of it is live in all of
        it.
        """
        if (known := self._ranges_by_nest.get(nest)) is not None:
            return known
        ranges = self._ranges_by_nest[nest] = LiveRanges(length=1)
        self._add_items(ranges, nest.body)
        whole = ranges.nest_ranges[nest] = 0, ranges.length
        ranges.length += 1
        for buffer in ranges.buffer_ranges:
            allocation = buffer.allocation_nest
            if allocation is None or not allocation.is_within(nest):
                ranges.buffer_ranges[buffer] = whole
        return ranges
