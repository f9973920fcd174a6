"""Simulator: timing plans, which are blocks whose time is a sum over their actions."""

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
    """Core that executes it; `None` for all cores."""


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedPlans:
    """A sequence of plans that is repeated `count` times."""

    pattern: tuple[TimingPlan, ...]
    count: int

    def simulate(self, model: EventModel) -> None:
        """Advance the time of the model."""
        repeat(model, partial(_simulate_all, self.pattern, model), self.count)


Action = Cost | Synchronise | tuple[RepeatedPlans, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TimingPlan:
    """Timing of one execution of a block."""

    steps: tuple[tuple[int, Action | None], ...]
    """Actions, each with the cycles of the control processor before it."""
    totals: Mapping[Key, int]
    """Sums of the costs of the instructions."""
    numbers: Sequence[int] = ()
    """For each step, the index of its instruction in the block."""

    def simulate_steps(self, model: EventModel) -> dict[int, int]:
        """
        Advance the time of the model; return the completion time of everything up to
        each instruction with work, by its index. Raises `IrregularError` as `simulate`
        does.
        """
        ends: dict[int, int] = {}
        for number, step in zip(self.numbers, self.steps, strict=True):
            TimingPlan((step,), {}).simulate(model)
            ends[number] = model.completion_time
        return ends

    def simulate(self, model: EventModel) -> None:
        """
        Advance the time of the model. Raises `IrregularError` at a wait without a
        signal.
        """
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
    and has one action on each core that executes it, or none if it uses no engine.
    """
    steps: list[tuple[int, Action | None]] = []
    totals: Counter[Key] = Counter()
    numbers: list[int] = []
    issued = index = 0
    for index, (kind, actions) in enumerate(ops):
        issued += issue
        totals["count", kind] += 1
        for action in actions:
            steps.append((issued, action))
            numbers.append(index)
            issued = 0
            _add_totals(totals, action)
    if issued:
        steps.append((issued, None))
        numbers.append(index)
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
