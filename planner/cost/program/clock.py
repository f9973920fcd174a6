"""
Execution of the cost model's schedule on the event model of the machine, without IR.

Instructions of different engines are ordered if they access the same slot or slices of
a buffer and one of them writes. A nest waits as a whole for preceding instructions, as
the semaphores of the compiled program do.
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
from tlf.planner.cost.program.issue_slots import IssueSlots
from tlf.planner.cost.program.loop_extrapolation import NestSweep
from tlf.planner.cost.program.timestamp_layout import TimestampAccess, TimestampLayout
from tlf.planner.settings.control_code import CONTROL_CODE


class TooManyInstructionsError(Exception):
    """A schedule exceeds the maximum number of executed instructions."""


@dataclass
class Clock:
    """State of a machine that runs a schedule."""

    costs: InstructionCosts
    layout: TimestampLayout
    lines: IssueSlots
    most: int | None = None
    """Maximum number of executed instructions; extrapolated ones do not count."""
    model: EventModel = field(init=False)
    values: dict[LoopCounter, int] = field(
        init=False, default_factory=dict[LoopCounter, int]
    )
    slot: dict[Nest, int] = field(init=False, default_factory=dict[Nest, int])
    """Slot of the current iteration of each nest."""
    first: dict[Nest, int] = field(init=False, default_factory=dict[Nest, int])
    """Slot of the first iteration of the next execution of each nest."""
    totals: list[int] = field(init=False)
    """Sums of the instructions' tallies, indexed by `keys`."""
    keys: dict[Key, int] = field(init=False, default_factory=dict[Key, int])
    steps: int = field(init=False, default=0)
    """Number of executed instructions; extrapolated ones do not count."""

    def __post_init__(self) -> None:
        self.model = EventModel.of(self.costs, 0)
        self.times = [0] * self.layout.size
        self.totals = []
        self._issue = self.costs.machine.issue_cycles
        self.model.time = self._issue * self.lines.start
        self._sweeps: dict[Nest, NestSweep] = {}
        self._opened: set[Nest] = set()

    def run_items(self, items: Sequence[Item]) -> None:
        """Run items in sequence."""
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
        """Record the completion time of an instruction."""
        times = self.times
        for index in touch.marks:
            times[index] = done
        for marks in touch.moving_marks:
            for index in marks.positions_at(self.values, self.slot):
                times[index] = done

    def _ready_time(self, touch: TimestampAccess) -> int:
        """Return the time at which all dependences of an instruction are complete."""
        ready, times = 0, self.times
        for index in touch.waits:
            if times[index] > ready:
                ready = times[index]
        for marks in touch.moving_waits:
            for index in marks.positions_at(self.values, self.slot):
                if times[index] > ready:
                    ready = times[index]
        return ready

    def _add_tally(self, tally: Sequence[tuple[Key, int]]) -> None:
        for key, count in tally:
            if (index := self.keys.get(key)) is None:
                index = self.keys[key] = len(self.totals)
                self.totals.append(0)
            self.totals[index] += count

    def _run_prologue(self, nest: Nest) -> None:
        """Issue the prologue of a nest: the instructions before its first iteration."""
        if nest in self._opened:
            return
        self._opened.add(nest)
        self._wait_before_nest(self.layout.entries[nest])
        first = self.first.get(nest, 0)
        for ahead in self.layout.ahead[nest]:
            for iteration in range(min(ahead, nest.trips)):
                self._issue_ahead(nest, first, iteration, ahead)

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
        """Make engines wait for conflicting accesses before a nest."""
        free = self.model.free
        for queue, touch in waiting:
            free[queue] = max(free[queue], self._ready_time(touch))

    def _sweep_nest(self, nest: Nest) -> NestSweep:
        if nest not in self._sweeps:
            self._sweeps[nest] = NestSweep(nest)
        return self._sweeps[nest]

    def run_iteration(self, nest: Nest, first: int, number: int) -> None:
        """Run one iteration of a nest whose slots start at `first`."""
        if self.most is not None and self.steps > self.most:
            raise TooManyInstructionsError
        self.model.time += (
            self._issue * CONTROL_CODE.early_index_slots * len(self.layout.ahead[nest])
        )
        bound, trips = -1, nest.trips
        for item in nest.body:
            iteration = number + (item.ahead if isinstance(item, Instruction) else 0)
            if iteration >= trips:
                continue
            if iteration != bound:
                self._bind_iteration(nest, first, bound := iteration)
            if isinstance(item, Nest):
                self._run_nest(item)
            else:
                self._run_instruction(item)

    def _issue_ahead(self, nest: Nest, first: int, number: int, ahead: int) -> None:
        """Issue the instructions of an iteration with prefetch distance `ahead`."""
        self._bind_iteration(nest, first, number)
        for item in nest.body:
            if isinstance(item, Instruction) and item.ahead == ahead:
                if ahead == 1:
                    # The index of this iteration is a constant.
                    self.model.time -= self._issue * self.lines.folded[item]
                self._run_instruction(item)

    def _bind_iteration(self, nest: Nest, first: int, number: int) -> None:
        """Set the counters and slots of an iteration."""
        self.slot[nest] = (first + number) % nest.slots
        for variable in reversed(nest.variables):
            number, index = divmod(number, variable.trips)
            self.values[variable] = variable.lower + variable.step * index

    def save_state(self) -> list[int]:
        """Return all times and totals."""
        return self.model.save_times() + self.times + self.totals

    def restore_state(self, state: Sequence[int]) -> None:
        """Set all times and totals."""
        values = iter(state)
        self.model.restore_times(values)
        for group in (self.times, self.totals):
            group[:] = [next(values, 0) for _ in group]

    def totals_by_key(self) -> dict[Key, int]:
        """Return the sums of the instructions' tallies."""
        return {key: self.totals[index] for key, index in self.keys.items()}


def run_schedule(
    items: Sequence[Item],
    costs: InstructionCosts,
    sharing: Sharing,
    most: int | None = None,
) -> Clock:
    """
    Run a schedule from an idle machine; `sharing` are the buffers that share bytes.
    Raises `TooManyInstructionsError` if more than `most` instructions are executed.
    """
    clock = Clock(costs, TimestampLayout.of(items, sharing), IssueSlots.of(items), most)
    clock.run_items(items)
    return clock
