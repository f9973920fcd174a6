"""Timing plans: blocks with known sizes, whose time is a sum over their actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Cost, Key
from tlf.machine.steady_state import repeat
from tlf.runtime.npu.register_intervals import IrregularError


@dataclass(frozen=True, slots=True)
class Synchronise:
    """A signal or a wait."""

    is_signal: bool
    queues: range
    semaphore: int
    core: int | None
    """The core that it belongs to; `None` for all cores."""


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedPlans:
    """Plans that follow each other, so many times."""

    pattern: tuple[TimingPlan, ...]
    count: int

    def simulate(self, model: EventModel) -> None:
        """Spend the time."""
        repeat(model, partial(_simulate_all, self.pattern, model), self.count)


Action = Cost | Synchronise | tuple[RepeatedPlans, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TimingPlan:
    """One run of a block."""

    steps: tuple[tuple[int, Action | None], ...]
    """The actions, each with the cycles of the control processor before it."""
    totals: Mapping[Key, int]
    """Sums of the costs of the instructions."""
    numbers: Sequence[int] = ()
    """For each step, the number of its instruction in the block."""

    def simulate_steps(self, model: EventModel) -> dict[int, int]:
        """
        Spend the time, and return when engines are through with everything up to each
        instruction that works, by its number. Raises `IrregularError` as `simulate`
        does.
        """
        ends: dict[int, int] = {}
        for number, step in zip(self.numbers, self.steps, strict=True):
            TimingPlan((step,), {}).simulate(model)
            ends[number] = model.completion_time
        return ends

    def simulate(self, model: EventModel) -> None:
        """Spend the time. Raises `IrregularError` at a wait without a signal."""
        for cycles, action in self.steps:
            model.time += cycles
            if isinstance(action, Cost):
                model.execute(action)
            elif isinstance(action, Synchronise):
                if action.is_signal:
                    model.signal(action.queues, action.semaphore, action.core)
                elif not model.wait(action.queues, action.semaphore, action.core):
                    raise IrregularError("deadlock")
            elif action is not None:
                for repeats in action:
                    repeats.simulate(model)


def _simulate_all(plans: Sequence[TimingPlan], model: EventModel) -> None:
    for plan in plans:
        plan.simulate(model)


def build_timing_plan(
    issue: int, ops: Iterable[tuple[str, Sequence[Action]]]
) -> TimingPlan:
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
            _add_totals(totals, action)
    if waiting:
        steps.append((waiting, None))
        numbers.append(number)
    return TimingPlan(tuple(steps), dict(totals), numbers)


def _add_totals(totals: Counter[Key], action: Action) -> None:
    if isinstance(action, Cost):
        for key, amount in action.tally:
            totals[key] += amount
    elif not isinstance(action, Synchronise):
        for repeats in action:
            for plan in repeats.pattern:
                for key, amount in plan.totals.items():
                    totals[key] += amount * repeats.count
