"""Simulator: timing plans, which are blocks whose time is a sum over their actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Cost, Key
from tlf.machine.steady_state import repeat_body
from tlf.runtime.npu.register_intervals import IrregularError


@dataclass(frozen=True, slots=True)
class SignalOrWait:
    """Timed action: one signal or one wait of an engine on a semaphore."""

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

    def simulate_repetitions(self, model: EventModel) -> None:
        """Advance the time of the model."""
        repeat_body(
            model, partial(_simulate_plans_in_order, self.pattern, model), self.count
        )


Action = Cost | SignalOrWait | tuple[RepeatedPlans, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TimingPlan:
    """Timed actions and summed costs of one execution of a block."""

    steps: tuple[tuple[int, Action | None], ...]
    """Actions, each with the cycles of the control processor before it."""
    totals: Mapping[Key, int]
    """Sums of the costs of the instructions."""
    instruction_indices: Sequence[int] = ()
    """For each step, the index of its instruction in the block."""

    def simulate_recording_completion_times(self, model: EventModel) -> dict[int, int]:
        """
        Advance the time of the model; return the completion time of everything up to
        each instruction with work, by its index. Raises `IrregularError` as `simulate`
        does.
        """
        ends: dict[int, int] = {}
        for number, step in zip(self.instruction_indices, self.steps, strict=True):
            TimingPlan((step,), {}).simulate_block(model)
            ends[number] = model.completion_time
        return ends

    def simulate_block(self, model: EventModel) -> None:
        """
        Advance the time of the model. Raises `IrregularError` at a wait without a
        signal.
        """
        for cycles, action in self.steps:
            model.time += cycles
            if isinstance(action, Cost):
                model.execute_instruction(action)
            elif isinstance(action, SignalOrWait):
                if action.is_signal:
                    model.signal_semaphore(action.queues, action.semaphore, action.core)
                elif not model.wait_for_semaphore(
                    action.queues, action.semaphore, action.core
                ):
                    raise IrregularError("deadlock")
            elif action is not None:
                for repeats in action:
                    repeats.simulate_repetitions(model)


def _simulate_plans_in_order(plans: Sequence[TimingPlan], model: EventModel) -> None:
    for plan in plans:
        plan.simulate_block(model)


def build_timing_plan(
    issue_cycles: int, actions_by_kind: Iterable[tuple[str, Sequence[Action]]]
) -> TimingPlan:
    """
    Return a plan of instructions by kind, each of which takes `issue_cycles` cycles to
    issue and has one action on each core that executes it, or none if it uses no
    engine.
    """
    steps: list[tuple[int, Action | None]] = []
    totals: Counter[Key] = Counter()
    numbers: list[int] = []
    issued = index = 0
    for index, (kind, actions) in enumerate(actions_by_kind):
        issued += issue_cycles
        totals["count", kind] += 1
        for action in actions:
            steps.append((issued, action))
            numbers.append(index)
            issued = 0
            _add_action_costs(totals, action)
    if issued:
        steps.append((issued, None))
        numbers.append(index)
    return TimingPlan(tuple(steps), dict(totals), numbers)


def _add_action_costs(totals: Counter[Key], action: Action) -> None:
    """Add the counters of `action` to `totals`, repetitions included."""
    if isinstance(action, Cost):
        for key, amount in action.counter_increments:
            totals[key] += amount
    elif not isinstance(action, SignalOrWait):
        for repeats in action:
            for plan in repeats.pattern:
                for key, amount in plan.totals.items():
                    totals[key] += amount * repeats.count
