"""
Cost model of NPU tile programs: facts of decisions on overlapping iterations, collected
from the body of a nest of its schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    Instruction,
    Item,
    Nest,
    instructions_in,
    step_of_index,
)
from tlf.planner.cost.program.live_ranges import LiveRanges
from tlf.planner.overlap.body_facts import (
    BodyBuffer,
    BodyMove,
    BodyOperation,
    RingSlices,
)
from tlf.planner.overlap.loop_memory import LiveBuffer, LoopMemory


@dataclass(frozen=True)
class ScheduleBody:
    """Facts of the body of a nest; `items` are its items as they were collected."""

    nest: Nest
    program_ranges: Callable[[], LiveRanges]
    """Returns the live ranges of the whole schedule."""
    items: Sequence[Item]
    operations: Sequence[BodyOperation]

    @staticmethod
    def of_nest(nest: Nest, program_ranges: Callable[[], LiveRanges]) -> ScheduleBody:
        """Return the facts of the body of a nest."""
        items = tuple(nest.body)
        positions = {item: position for position, item in enumerate(items)}
        facts = [_facts_of_item(item, nest, positions) for item in items]
        return ScheduleBody(nest, program_ranges, items, facts)

    def measure_memory(self) -> LoopMemory:
        """Return the live buffers of the schedule."""
        ranges = self.program_ranges()

        def collect_buffers(level: str) -> list[LiveBuffer]:
            return [
                LiveBuffer(
                    each,
                    each.bytes,
                    steps
                    if each.multibuffer_nest is None
                    else ranges.nest_ranges[each.multibuffer_nest],
                    each.multibuffer_count,
                )
                for each, steps in ranges.buffer_ranges.items()
                if each.level == level
            ]

        inner = [
            step.temporary_bytes
            for item in self.items
            if isinstance(item, Nest)
            for step in item.instructions()
        ]
        own = [e.temporary_bytes for e in self.items if isinstance(e, Instruction)]
        temporaries = sum(own) + max(inner, default=0)
        return LoopMemory(collect_buffers, ranges.nest_ranges[self.nest], temporaries)

    def instruction_at(self, position: int) -> Instruction:
        """Return the item at a position, which must be an instruction."""
        item = self.items[position]
        assert isinstance(item, Instruction)
        return item

    def can_overwrite_source(self, load: int, writer: int) -> bool:
        """
        Return `True` if an item may write what a load reads, before it or in another
        iteration.
        """
        return any(
            read.can_alias(write) if writer < load else read.can_alias_later(write)
            for step in instructions_in([self.items[writer]])
            for write in step.writes
            for read in self.instruction_at(load).reads
        )

    def has_early_address(self, load: int) -> bool:
        """Return `True`: all addresses are sums of loop counters."""
        return True

    def ring_slices_of(self, load: int) -> RingSlices | None:
        """Return the slices of a ring that a load fills; None if they are unknown."""
        (write,) = self.instruction_at(load).writes
        return _ring_slices_of(write, self.nest)

    def other_ring_slices(self, load: int) -> Sequence[tuple[int, RingSlices | None]]:
        """Return the slices that other instructions access in a ring."""
        (write,) = self.instruction_at(load).writes
        return [
            (position, _ring_slices_of(access, self.nest))
            for position, item in enumerate(self.items)
            if position != load
            for step in instructions_in([item])
            for access in step.reads_and_writes
            if access.buffer is write.buffer
        ]


def _ring_slices_of(access: BufferAccess, nest: Nest) -> RingSlices | None:
    """Return slices of a ring that depend on the only counter of a nest; else None."""
    if any(nest.counters != (each,) for each, _ in access.first_slice.terms):
        return None
    step = sum(step_of_index(access.first_slice, each) for each in nest.counters)
    ring = access.buffer
    slices = access.slice_count
    return RingSlices(ring, access.first_slice, step, slices, ring.slice_count)


def _facts_of_item(
    item: Item, nest: Nest, positions: Mapping[Item, int]
) -> BodyOperation:
    """Return the facts of an item of a nest, and of the instructions inside."""
    if isinstance(item, Instruction):
        return BodyOperation(
            frozenset(access.buffer for access in item.reads_and_writes),
            frozenset(access.buffer for access in item.writes),
            _move_facts_of(item, nest),
            (),
            _accumulators_of(item, nest),
            [positions.get(each) for each in item.completed_moves],
            0,
            item.is_product,
            _can_start_early(item),
        )
    inside = [_facts_of_item(each, nest, positions) for each in item.instructions()]
    return BodyOperation(
        frozenset(buffer for each in inside for buffer in each.accessed),
        frozenset(buffer for each in inside for buffer in each.written),
        None,
        frozenset(each.move.queue for each in inside if each.move is not None),
        [buffer for each in inside for buffer in each.accumulators],
        [move for each in inside for move in each.awaited_moves],
        item.stages,
    )


def _body_buffer_of(buffer: Buffer, nest: Nest) -> BodyBuffer:
    return BodyBuffer(buffer, buffer.level, buffer.allocation_nest is nest)


def _move_facts_of(instruction: Instruction, nest: Nest) -> BodyMove | None:
    """Return the facts of a move; None for other instructions."""
    if instruction.move_endpoints is None:
        return None
    source, destination = instruction.move_endpoints
    indices = [e.buffer for e in instruction.reads if e.buffer is not source]
    return BodyMove(
        _body_buffer_of(source, nest),
        _body_buffer_of(destination, nest),
        destination.slice_count > 1,
        indices[0] if instruction.is_indexed and indices else None,
    )


def _accumulators_of(instruction: Instruction, nest: Nest) -> list[BodyBuffer]:
    """Return the buffers that a product writes; none for other instructions."""
    if not instruction.is_product:
        return []
    return [_body_buffer_of(access.buffer, nest) for access in instruction.writes]


def _can_start_early(instruction: Instruction) -> bool:
    """Return `True` for a product that overwrites a whole buffer."""
    total = instruction.accumulator
    reads = (access.buffer for access in instruction.reads)
    return instruction.is_product and total is not None and total not in reads
