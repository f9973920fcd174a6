"""Cost model of NPU tile programs: live ranges of the buffers of its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.planner.cost.program.instruction_nests import Buffer, Instruction, Item, Nest

Span = tuple[int, int]


@dataclass
class LiveRanges:
    """Live ranges of buffers in instruction order."""

    nest_ranges: dict[Nest, Span]
    buffer_ranges: dict[Buffer, Span]
    instruction_positions: dict[Instruction, int] = field(
        default_factory=dict[Instruction, int]
    )
    first_and_last_uses: dict[Buffer, tuple[Instruction, Instruction]] = field(
        default_factory=dict[Buffer, tuple[Instruction, Instruction]]
    )
    """First and last instruction that accesses each buffer."""

    @staticmethod
    def from_schedule(items: Sequence[Item]) -> LiveRanges:
        """Compute the live ranges of the nests and buffers of a schedule."""
        ranges = LiveRanges({}, {})
        instructions: list[tuple[Instruction, int, tuple[Nest, ...]]] = []
        ranges._assign_positions(items, 0, (), instructions)
        for step, position, nests in instructions:
            for access in step.reads_and_writes:
                first, _ = ranges.first_and_last_uses.get(access.buffer, (step, step))
                ranges.first_and_last_uses[access.buffer] = first, step
            ended = (
                each for move in step.completed_moves for each in move.reads_and_writes
            )
            for access in (*step.reads_and_writes, *ended):
                ranges._extend_live_range(access.buffer, position, nests)
        return ranges

    def _assign_positions(
        self,
        items: Sequence[Item],
        position: int,
        surrounding_nests: tuple[Nest, ...],
        accesses: list[tuple[Instruction, int, tuple[Nest, ...]]],
    ) -> int:
        """
        Number instructions and both ends of nests from `position` on, append the
        instructions to `accesses`, and return the next position.
        """
        for item in items:
            if isinstance(item, Instruction):
                accesses.append((item, position, surrounding_nests))
                self.instruction_positions[item] = position
                position += 1
                continue
            first = position
            position = (
                self._assign_positions(
                    item.body, position + 1, (*surrounding_nests, item), accesses
                )
                + 1
            )
            self.nest_ranges[item] = first, position - 1
        return position

    def _extend_live_range(
        self, buffer: Buffer, position: int, surrounding_nests: tuple[Nest, ...]
    ) -> None:
        """
        Extend the live range of a buffer; a buffer from outside of a loop is live in
        all of the loop.
        """
        span = position, position
        for nest in surrounding_nests:
            if buffer.allocation_nest is None or not buffer.allocation_nest.is_within(
                nest
            ):
                span = self.nest_ranges[nest]
                break
        known = self.buffer_ranges.get(buffer, span)
        self.buffer_ranges[buffer] = min(known[0], span[0]), max(known[1], span[1])
