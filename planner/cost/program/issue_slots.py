"""
Issue slots of the control processor around the instructions of a schedule.

A line takes `issue_cycles`, and the processor runs ahead of the engines: so what it
issues before the first instruction counts, and all of it only where instructions are so
short that engines wait for it. Semaphores of loops are signalled at the start of the
program, as often as iterations may be under way; an instruction that has to wait has a
line for that, one that others wait for has another, and addresses take arithmetic.
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

ADVANCE = 3
"""Lines of an iteration that find out what to issue ahead."""

CHUNK = 10
"""Lines that find out whether to wait for another chunk."""

Use = tuple[Buffer, int, bool]
"""A buffer, an engine, and whether it writes."""


@dataclass
class IssueSlots:
    """Issue slots before an instruction, its own included, and after it."""

    before: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    after: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    folded: dict[Instruction, int] = field(default_factory=dict[Instruction, int])
    """Those of `before` that a first iteration, whose counters are known, has not."""
    start: int = 0
    """At the start of the program."""

    @staticmethod
    def of(items: Sequence[Item]) -> IssueSlots:
        """Count the lines of a schedule."""
        lines = IssueSlots()
        users: dict[Buffer, set[int]] = {}
        for step in instructions_in(items):
            for access in step.reads_and_writes:
                users.setdefault(access.buffer, set()).add(step.queue)
        lines._count_items(items, None, set(), users)
        lines.start = credits_of(nests_in(items))
        return lines

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
            others = any(
                users[access.buffer] - {item.queue} for access in item.reads_and_writes
            )
            waits = others if nest is not None else _is_conflicting(item, seen)
            scalars = 0
            if nest is not None and not slotted and _needs_slot_index(item, nest):
                scalars, slotted = 2, True
            scalars += sum(
                CHUNK for each in item.reads if isinstance(each.disjoint_box, ChunkBox)
            )
            self.folded[item] = _address_terms(item)
            self.before[item] = 1 + waits + scalars + self.folded[item]
            self.after[item] = int(others)
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
    """Return `True` if an instruction has to find the slot of an iteration."""
    return nest.trips > nest.slots > 1 and any(
        access.buffer.multibuffer_nest is nest for access in step.reads_and_writes
    )


def _address_terms(step: Instruction) -> int:
    """The multiplications and additions of the addresses of a move."""
    return sum(len(phase.place.terms) for phase in step.cost.phases)
