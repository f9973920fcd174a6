"""
Cost model of the control processor: issue slots around the instructions of a schedule.

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

from tlf.planner.cost.program.credits import credits_of
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    ChunkBox,
    Instruction,
    Item,
    Nest,
    instructions_in,
    nests_in,
)
from tlf.planner.settings.control_code import CONTROL_CODE

Use = tuple[Buffer, int, bool]
"""A buffer, an engine, and `True` for a write."""


@dataclass
class IssueSlots:
    """Issue slots before an instruction, including its own, and after it."""

    before: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    after: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    folded: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    """Slots of `before` that a first iteration with constant counters does not need."""
    start: int = 0
    """Slots at the start of the program."""

    @staticmethod
    def of(items: Sequence[Item]) -> IssueSlots:
        """Return the issue slots of a schedule."""
        slots = IssueSlots()
        users: dict[Buffer, set[int]] = {}
        for step in instructions_in(items):
            for access in step.reads_and_writes:
                users.setdefault(access.buffer, set()).add(step.queue)
        slots._count_items(items, None, set(), users)
        slots.start = credits_of(nests_in(items))
        return slots

    def _count_items(
        self,
        items: Sequence[Item],
        nest: Nest | None,
        seen: set[Use],
        users: dict[Buffer, set[int]],
    ) -> None:
        slotted = False
        for item in items:
            if isinstance(item, Nest):
                self._count_items(item.body, item, seen, users)
                continue
            has_other_users = any(
                users[access.buffer] - {item.queue} for access in item.reads_and_writes
            )
            waits = has_other_users if nest is not None else _is_conflicting(item, seen)
            scalars = 0
            if nest is not None and not slotted and _needs_slot_index(item, nest):
                scalars, slotted = 2, True
            scalars += sum(
                CONTROL_CODE.chunk_wait_slots
                for each in item.reads
                if isinstance(each.disjoint_box, ChunkBox)
            )
            self.folded[item] = _address_terms(item)
            self.before[item] = 1 + waits + scalars + self.folded[item]
            self.after[item] = int(has_other_users)
            seen.update(_uses_of(item))


def _uses_of(step: Instruction) -> Iterator[Use]:
    for access, writes in step.accesses:
        yield access.buffer, step.queue, writes


def _is_conflicting(step: Instruction, seen: set[Use]) -> bool:
    """
    Return `True` if an instruction conflicts with an earlier use by another engine.
    """
    own = list(_uses_of(step))
    return any(
        buffer is other and queue != engine and (writes or wrote)
        for buffer, queue, writes in own
        for other, engine, wrote in seen
    )


def _needs_slot_index(step: Instruction, nest: Nest) -> bool:
    """Return `True` if an instruction computes the slot of its iteration."""
    return nest.trips > nest.slots > 1 and any(
        access.buffer.multibuffer_nest is nest for access in step.reads_and_writes
    )


def _address_terms(step: Instruction) -> int:
    """
    Return the number of multiplications with additions in the addresses of a move.
    """
    return sum(len(phase.place.terms) for phase in step.cost.phases)
