"""
Lines of the control processor around the instructions of a schedule.

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
from tlf.planner.cost.program.program import (
    Buffer,
    Chunk,
    Item,
    Nest,
    Step,
    nests_of,
    steps_of,
)

ADVANCE = 3
"""Lines of an iteration that find out what to issue ahead."""

CHUNK = 10
"""Lines that find out whether to wait for another chunk."""

Use = tuple[Buffer, int, bool]
"""A buffer, an engine, and whether it writes."""


@dataclass
class Lines:
    """The lines before an instruction, with its own, and after it."""

    before: dict[Step, int] = field(default_factory=dict[Step, int])
    after: dict[Step, int] = field(default_factory=dict[Step, int])
    folded: dict[Step, int] = field(default_factory=dict[Step, int])
    """Those of `before` that a first iteration, whose counters are known, has not."""
    start: int = 0
    """At the start of the program."""

    @staticmethod
    def of(items: Sequence[Item]) -> Lines:
        """Count the lines of a schedule."""
        lines = Lines()
        users: dict[Buffer, set[int]] = {}
        for step in steps_of(items):
            for access in step.touched:
                users.setdefault(access.buffer, set()).add(step.queue)
        lines._count(items, None, set(), users)
        lines.start = credits_of(nests_of(items))
        return lines

    def _count(
        self,
        items: Sequence[Item],
        nest: Nest | None,
        seen: set[Use],
        users: dict[Buffer, set[int]],
    ) -> None:
        slotted = False
        for item in items:
            if isinstance(item, Nest):
                self._count(item.body, item, seen, users)
                continue
            others = any(users[access.buffer] - {item.queue} for access in item.touched)
            waits = others if nest is not None else _follows(item, seen)
            scalars = 0
            if nest is not None and not slotted and _takes_turns(item, nest):
                scalars, slotted = 2, True
            scalars += sum(CHUNK for each in item.reads if isinstance(each.turn, Chunk))
            self.folded[item] = _terms(item)
            self.before[item] = 1 + waits + scalars + self.folded[item]
            self.after[item] = int(others)
            seen.update(_uses(item))


def _uses(step: Step) -> Iterator[Use]:
    for access, writes in step.accesses:
        yield access.buffer, step.queue, writes


def _follows(step: Step, seen: set[Use]) -> bool:
    """
    Return `True` if an instruction conflicts with an earlier use by another engine.
    """
    own = list(_uses(step))
    return any(
        buffer is other and queue != engine and (writes or wrote)
        for buffer, queue, writes in own
        for other, engine, wrote in seen
    )


def _takes_turns(step: Step, nest: Nest) -> bool:
    """Return `True` if an instruction has to find the slot of an iteration."""
    return nest.trips > nest.slots > 1 and any(
        access.buffer.turns is nest for access in step.touched
    )


def _terms(step: Step) -> int:
    """The multiplications and additions of the addresses of a move."""
    return sum(len(phase.place.terms) for phase in step.price.phases)
