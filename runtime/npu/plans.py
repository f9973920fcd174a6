"""
Blocks of a program with all their sizes known: what is left to do is to add up time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tlf.machine.costs import Cost, Key
from tlf.machine.model import EventModel
from tlf.machine.repeat import repeat
from tlf.runtime.npu.regular import IrregularError


@dataclass(frozen=True, slots=True)
class Synchronise:
    """A signal or a wait."""

    is_signal: bool
    queues: range
    semaphore: int
    core: int | None
    """The core that it belongs to; `None` for all cores."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Plans that follow each other, so many times."""

    pattern: tuple[Plan, ...]
    count: int

    def play(self, model: EventModel) -> None:
        """Spend the time."""
        repeat(model, partial(_play_all, self.pattern, model), self.count)


Action = Cost | Synchronise | tuple[Repeats, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One run of a block."""

    steps: tuple[tuple[int, Action | None], ...]
    """The actions, each with the cycles of the control processor before it."""
    totals: Mapping[Key, int]
    """Sums of the costs of the instructions."""
    numbers: Sequence[int] = ()
    """For each step, the number of its instruction in the block."""

    def watch(self, model: EventModel) -> dict[int, int]:
        """
        Spend the time, and return when engines are through with everything up to each
        instruction that works, by its number. Raises `IrregularError` as `play` does.
        """
        ends: dict[int, int] = {}
        for number, step in zip(self.numbers, self.steps, strict=True):
            Plan((step,), {}).play(model)
            ends[number] = model.settled
        return ends

    def play(self, model: EventModel) -> None:
        """Spend the time. Raises `IrregularError` at a wait without a signal."""
        for cycles, action in self.steps:
            model.time += cycles
            if isinstance(action, Cost):
                model.work(action)
            elif isinstance(action, Synchronise):
                if action.is_signal:
                    model.signal(action.queues, action.semaphore, action.core)
                elif not model.wait(action.queues, action.semaphore, action.core):
                    raise IrregularError("deadlock")
            elif action is not None:
                for repeats in action:
                    repeats.play(model)


def _play_all(plans: Sequence[Plan], model: EventModel) -> None:
    for plan in plans:
        plan.play(model)


def plan_of(issue: int, ops: Iterable[tuple[str, Sequence[Action]]]) -> Plan:
    """
    Return a plan of instructions by kind, each of which takes `issue` cycles to issue
    and does something on every core that it is for, or leaves the engines alone.
    """
    steps: list[tuple[int, Action | None]] = []
    totals: Counter[Key] = Counter()
    numbers: list[int] = []
    waiting = number = 0
    for number, (kind, actions) in enumerate(ops):
        waiting += issue
        totals["count", kind] += 1
        for action in actions:
            steps.append((waiting, action))
            numbers.append(number)
            waiting = 0
            _add(totals, action)
    if waiting:
        steps.append((waiting, None))
        numbers.append(number)
    return Plan(tuple(steps), dict(totals), numbers)


def _add(totals: Counter[Key], action: Action) -> None:
    if isinstance(action, Cost):
        for key, amount in action.tally:
            totals[key] += amount
    elif not isinstance(action, Synchronise):
        for repeats in action:
            for plan in repeats.pattern:
                for key, amount in plan.totals.items():
                    totals[key] += amount * repeats.count
