"""
Cost model of the control processor, on its schedule instead of IR: issue slots around
instructions.

A slot takes `issue_cycles`, and the processor runs ahead of the engines: slots before
the first instruction always count, other slots only if instructions are so short that
engines wait for the processor. Semaphores of loops are signalled at the start of the
program, once for each iteration that may be in flight. An instruction that waits has a
slot for the wait, an instruction that others wait for has another slot, and addresses
take scalar arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlf.planner.cost.program.buffer_sharing import Sharing
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    ChunkBox,
    Instruction,
    Item,
    Nest,
    instructions_in,
    nests_in,
)
from tlf.planner.cost.program.semaphore_credits import (
    NestCredits,
    count_initial_credits,
)
from tlf.planner.settings.control_code import CONTROL_CODE

Use = tuple[Buffer, int, bool]
"""A buffer, an engine, and `True` for a write."""


@dataclass
class IssueSlots:
    """Issue slots before an instruction, including its own, and after it."""

    slots_before: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    slots_after: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    folded_slots: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    """Slots of `before` that a first iteration with constant counters does not need."""
    initial_slots: int = 0
    """Slots at the start of the program."""
    waits_by_region: dict[Nest, int] = field(default_factory=dict[Nest, int])
    """Waits before regions that every core executes."""
    signals_by_region: dict[Nest, int] = field(default_factory=dict[Nest, int])
    """Signals after such regions."""

    @staticmethod
    def count_in_schedule(items: Sequence[Item], sharing: Sharing) -> IssueSlots:
        """
        Count the issue slots before and after each instruction of a schedule, whose
        buffers share bytes as given.
        """
        slots = IssueSlots()
        users: dict[Buffer, set[int]] = {}
        for step in instructions_in(items):
            for access in step.reads_and_writes:
                users.setdefault(access.buffer, set()).add(step.queue)
        slots._count_slots_of_items(items, None, set(), users)
        slots.initial_slots = count_initial_credits(nests_in(items))
        slots._count_slots_around_regions(Nest((), None, body=list(items)), sharing)
        return slots

    def _count_slots_around_regions(self, nest: Nest, sharing: Sharing) -> None:
        """Record the waits before and the signals after each region in a nest."""
        nests = [item for item in nest.body if isinstance(item, Nest)]
        if any(each.is_core_region for each in nests):
            for producer, consumer in NestCredits.find_sync_edges(nest, sharing):
                for position, slots in (
                    (producer, self.signals_by_region),
                    (consumer, self.waits_by_region),
                ):
                    item = nest.body[position]
                    if isinstance(item, Nest):
                        slots[item] = slots.get(item, 0) + 1
        for each in nests:
            if not each.is_core_region:
                self._count_slots_around_regions(each, sharing)

    def _count_slots_of_items(
        self,
        items: Sequence[Item],
        nest: Nest | None,
        earlier_uses: set[Use],
        engines_by_buffer: dict[Buffer, set[int]],
    ) -> None:
        """
        Record the slots around each instruction of `items` and their nests, and add its
        uses to `earlier_uses`.
        """
        slotted: set[int] = set()
        addressed: set[Buffer] = set()
        for item in items:
            if isinstance(item, Nest):
                self._count_slots_of_items(
                    item.body, item, earlier_uses, engines_by_buffer
                )
                continue
            has_other_users = any(
                engines_by_buffer[access.buffer] - {item.queue}
                for access in item.reads_and_writes
            )
            waits = (
                has_other_users
                if nest is not None
                else _has_conflict_with_earlier(item, earlier_uses)
            )
            scalars = 0
            ahead = item.prefetch_distance
            if nest is not None and ahead not in slotted:
                if _needs_slot_index(item, nest):
                    scalars = 2
                    slotted.add(ahead)
            scalars += _count_chunk_wait_slots(item, nest)
            known = set[Buffer]() if item.prefetch_distance else addressed
            self.folded_slots[item] = _count_address_slots(item, known)
            self.slots_before[item] = 1 + waits + scalars + self.folded_slots[item]
            self.slots_after[item] = int(has_other_users)
            earlier_uses.update(_buffer_uses_of(item))


def _buffer_uses_of(instruction: Instruction) -> Iterator[Use]:
    for access, writes in instruction.accesses:
        yield access.buffer, instruction.queue, writes


def _has_conflict_with_earlier(
    instruction: Instruction, earlier_uses: set[Use]
) -> bool:
    """
    Return `True` if an instruction conflicts with an earlier use by another engine.
    """
    own = list(_buffer_uses_of(instruction))
    return any(
        buffer is other and queue != engine and (writes or wrote)
        for buffer, queue, writes in own
        for other, engine, wrote in earlier_uses
    )


def _needs_slot_index(instruction: Instruction, nest: Nest) -> bool:
    """Return `True` if an instruction computes the slot of its iteration."""
    return nest.trip_count > nest.slot_count > 1 and any(
        access.buffer.multibuffer_nest is nest
        for access in instruction.reads_and_writes
    )


def count_index_slots(nest: Nest) -> int:
    """
    Return the slots per iteration of a nest of several counters, which follow from the
    number of the iteration if iterations overlap: a remainder or quotient for each, and
    a multiplication by its step. In a distributed nest, the number of the iteration
    follows from that of the core.
    """
    if nest.slot_count == 1:
        return 0
    slots = CONTROL_CODE.core_index_slots if nest.is_distributed else 0
    if len(nest.counters) > 1:
        slots += CONTROL_CODE.index_slots_per_counter * len(nest.counters)
    return slots


def _count_chunk_wait_slots(instruction: Instruction, nest: Nest | None) -> int:
    """
    Return the slots that decide whether to wait for a chunk: in the nest that consumes
    the chunks of a load, each loop around the innermost one is a case of its own.
    """
    boxes = [each.disjoint_box for each in instruction.reads]
    slots = 0
    for box in boxes:
        if not isinstance(box, ChunkBox):
            continue
        if nest is None or not nest.is_within(box.nest):
            slots += CONTROL_CODE.store_chunk_wait_slots
            continue
        slots += CONTROL_CODE.load_chunk_wait_slots
        slots += CONTROL_CODE.chunk_wait_slots_per_loop * (_depth_of(nest) - 1)
    return slots


def _depth_of(nest: Nest) -> int:
    """Return the number of nests around the body of a nest."""
    depth = 0
    around: Nest | None = nest
    while around is not None:
        depth, around = depth + 1, around.surrounding_nest
    return depth


def _count_address_slots(instruction: Instruction, known: set[Buffer]) -> int:
    """
    Return the slots that compute addresses: a multiplication for each loop counter and
    for the slot of each buffer, and additions of these. Slots of buffers in `known` are
    computed before; those of the instruction are added. An early instruction computes
    the index of its iteration in a loop of its own.
    """
    buffers = {
        access.buffer
        for access in instruction.reads_and_writes
        if _rotates_through_slots(access.buffer)
    }
    terms = sum(len(phase.address.terms) for phase in instruction.cost.phases)
    new = len(buffers - known)
    known |= buffers
    ends = sum(1 for phase in instruction.cost.phases if phase.address.terms)
    is_own_loop = terms > 0 and instruction.prefetch_distance > 0
    return terms + new + terms - ends + is_own_loop


def _rotates_through_slots(buffer: Buffer) -> bool:
    """Return `True` if iterations use different slots of a buffer."""
    nest = buffer.multibuffer_nest
    return nest is not None and nest.trip_count > 1 and nest.slot_count > 1
