"""
Run a schedule on the event model of the machine.

Instructions of different engines are ordered where they touch the same slot or slices
of a buffer and one writes. A nest waits as a whole for what is done before it, as the
semaphores of the compiled program make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts, Key
from tlf.planner.cost.program.buffer_sharing import Sharing
from tlf.planner.cost.program.instruction_nests import (
    Instruction,
    Item,
    LoopCounter,
    Nest,
)
from tlf.planner.cost.program.issue_slots import ADVANCE, IssueSlots
from tlf.planner.cost.program.loop_extrapolation import NestSweep
from tlf.planner.cost.program.timestamp_layout import TimestampAccess, TimestampLayout


class TooManyInstructionsError(Exception):
    """A schedule that takes more instructions than are to be run."""


@dataclass
class Clock:
    """The time of a machine that runs a schedule."""

    costs: InstructionCosts
    layout: TimestampLayout
    lines: IssueSlots
    most: int | None = None
    """The instructions that are to be run, not only counted, at most."""
    model: EventModel = field(init=False)
    values: dict[LoopCounter, int] = field(
        init=False, default_factory=dict[LoopCounter, int]
    )
    slot: dict[Nest, int] = field(init=False, default_factory=dict[Nest, int])
    """The slot that the iteration of a nest takes."""
    first: dict[Nest, int] = field(init=False, default_factory=dict[Nest, int])
    """The slot of the next execution's first iteration."""
    totals: list[int] = field(init=False)
    """Sums of the instructions' tallies, by `keys`."""
    keys: dict[Key, int] = field(init=False, default_factory=dict[Key, int])
    steps: int = field(init=False, default=0)
    """The instructions that were run, not only counted."""

    def __post_init__(self) -> None:
        self.model = EventModel.of(self.costs, 0)
        self.times = [0] * self.layout.size
        self.totals = []
        self._issue = self.costs.machine.issue_cycles
        self.model.time = self._issue * self.lines.start
        self._sweeps: dict[Nest, NestSweep] = {}
        self._opened: set[Nest] = set()

    def run_items(self, items: Sequence[Item]) -> None:
        """Run items one after the other."""
        for item in items:
            if isinstance(item, Nest):
                if item.opens is not None:
                    self._run_prologue(item.opens)
                self._run_nest(item)
            else:
                self._run_instruction(item)

    def _run_instruction(self, step: Instruction) -> None:
        if step.finishes:
            return
        self.steps += 1
        model, queue = self.model, step.queue
        model.time += self._issue * self.lines.before[step]
        touch = self.layout.steps[step]
        ready = self._ready_time(touch)
        if ready > model.free[queue]:
            model.free[queue] = ready
        for cost in step.cost.costs_at(self.values):
            model.execute(cost)
            self._add_tally(cost.tally)
        model.time += self._issue * self.lines.after[step]
        self._record_completion(touch, model.done[queue])

    def _record_completion(self, touch: TimestampAccess, done: int) -> None:
        """Keep when something is done."""
        times = self.times
        for place in touch.marks:
            times[place] = done
        for marks in touch.moving_marks:
            for place in marks.positions_at(self.values, self.slot):
                times[place] = done

    def _ready_time(self, touch: TimestampAccess) -> int:
        """Return the time at which all that an instruction depends on is complete."""
        ready, times = 0, self.times
        for place in touch.waits:
            if times[place] > ready:
                ready = times[place]
        for marks in touch.moving_waits:
            for place in marks.positions_at(self.values, self.slot):
                if times[place] > ready:
                    ready = times[place]
        return ready

    def _add_tally(self, tally: Sequence[tuple[Key, int]]) -> None:
        for key, number in tally:
            if (at := self.keys.get(key)) is None:
                at = self.keys[key] = len(self.totals)
                self.totals.append(0)
            self.totals[at] += number

    def _run_prologue(self, nest: Nest) -> None:
        """Issue the work before the first iteration of a nest: its prologue."""
        if nest in self._opened:
            return
        self._opened.add(nest)
        self._wait_before_nest(self.layout.entries[nest])
        first = self.first.get(nest, 0)
        for ahead in self.layout.ahead[nest]:
            for number in range(min(ahead, nest.trips)):
                self._issue_ahead(nest, first, number, ahead)

    def _run_nest(self, nest: Nest) -> None:
        self._run_prologue(nest)
        self._opened.discard(nest)
        first = self.first.get(nest, 0)
        self._wait_before_nest(self.layout.late[nest])
        self.model.time += self._issue
        self._sweep_nest(nest).run_nest(self, first)
        self.first[nest] = (first + nest.trips) % nest.slots
        for queue, touch in self.layout.exits[nest]:
            self._record_completion(touch, self.model.done[queue])

    def _wait_before_nest(self, waiting: Sequence[tuple[int, TimestampAccess]]) -> None:
        """Let engines wait for what stands before a nest."""
        free = self.model.free
        for queue, touch in waiting:
            free[queue] = max(free[queue], self._ready_time(touch))

    def _sweep_nest(self, nest: Nest) -> NestSweep:
        if nest not in self._sweeps:
            self._sweeps[nest] = NestSweep(nest)
        return self._sweeps[nest]

    def run_iteration(self, nest: Nest, first: int, number: int) -> None:
        """One iteration of a nest whose slots start at `first`."""
        if self.most is not None and self.steps > self.most:
            raise TooManyInstructionsError
        self.model.time += self._issue * ADVANCE * len(self.layout.ahead[nest])
        turned, trips = -1, nest.trips
        for item in nest.body:
            at = number + (item.ahead if isinstance(item, Instruction) else 0)
            if at >= trips:
                continue
            if at != turned:
                self._bind_iteration(nest, first, turned := at)
            if isinstance(item, Nest):
                self._run_nest(item)
            else:
                self._run_instruction(item)

    def _issue_ahead(self, nest: Nest, first: int, number: int, ahead: int) -> None:
        """
        Issue the steps of an iteration that come `ahead` iterations before its own.
        """
        self._bind_iteration(nest, first, number)
        for item in nest.body:
            if isinstance(item, Instruction) and item.ahead == ahead:
                if ahead == 1:
                    # Which iteration this is, is known.
                    self.model.time -= self._issue * self.lines.folded[item]
                self._run_instruction(item)

    def _bind_iteration(self, nest: Nest, first: int, number: int) -> None:
        """Let counters and slots be those of an iteration."""
        self.slot[nest] = (first + number) % nest.slots
        for variable in reversed(nest.variables):
            number, place = divmod(number, variable.trips)
            self.values[variable] = variable.lower + variable.step * place

    def save_state(self) -> list[int]:
        """All times and totals."""
        model = self.model
        return [
            model.time,
            *model.free,
            *model.done,
            *model.channels,
            *self.times,
            *self.totals,
        ]

    def restore_state(self, state: Sequence[int]) -> None:
        """Go back, or ahead, to a state."""
        model, rest = self.model, iter(state)
        model.time = next(rest)
        for group in (model.free, model.done, model.channels, self.times, self.totals):
            for number in range(len(group)):
                group[number] = next(rest, 0)

    def totals_by_key(self) -> dict[Key, int]:
        """Return the sums of the instructions' tallies."""
        return {key: self.totals[at] for key, at in self.keys.items()}


def run_schedule(
    items: Sequence[Item],
    costs: InstructionCosts,
    sharing: Sharing,
    most: int | None = None,
) -> Clock:
    """
    Run a schedule from rest, whose buffers share bytes. Raises
    `TooManyInstructionsError` where that takes more instructions than `most`.
    """
    clock = Clock(costs, TimestampLayout.of(items, sharing), IssueSlots.of(items), most)
    clock.run_items(items)
    return clock
