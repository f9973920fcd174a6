"""
Runs a schedule on the event model of the machine.

Instructions of different engines are ordered where they touch the same slot or slices
of a buffer and one writes. A nest waits as a whole for what is done before it, as the
semaphores of the compiled program make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.costs import Costs, Key
from tlf.machine.model import EventModel
from tlf.planner.cost.program.layout import Layout, Touch
from tlf.planner.cost.program.lines import ADVANCE, Lines
from tlf.planner.cost.program.planning import Sharing
from tlf.planner.cost.program.program import Item, Nest, Step, Variable
from tlf.planner.cost.program.steady import Sweep


class TooManyStepsError(Exception):
    """A schedule that takes more instructions than are to be run."""


@dataclass
class Clock:
    """The time of a machine that runs a schedule."""

    costs: Costs
    layout: Layout
    lines: Lines
    most: int | None = None
    """The instructions that are to be run, not only counted, at most."""
    model: EventModel = field(init=False)
    values: dict[Variable, int] = field(init=False, default_factory=dict[Variable, int])
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
        self._sweeps: dict[Nest, Sweep] = {}
        self._opened: set[Nest] = set()

    def run(self, items: Sequence[Item]) -> None:
        """Run items one after the other."""
        for item in items:
            if isinstance(item, Nest):
                if item.opens is not None:
                    self._open(item.opens)
                self._nest(item)
            else:
                self._step(item)

    def _step(self, step: Step) -> None:
        if step.finishes:
            return
        self.steps += 1
        model, queue = self.model, step.queue
        model.time += self._issue * self.lines.before[step]
        touch = self.layout.steps[step]
        ready = self._ready(touch)
        if ready > model.free[queue]:
            model.free[queue] = ready
        for cost in step.price.of(self.values):
            model.work(cost)
            self._count(cost.tally)
        model.time += self._issue * self.lines.after[step]
        self._mark(touch, model.done[queue])

    def _mark(self, touch: Touch, done: int) -> None:
        """Keep when something is done."""
        times = self.times
        for place in touch.marks:
            times[place] = done
        for marks in touch.moving_marks:
            for place in marks.of(self.values, self.slot):
                times[place] = done

    def _ready(self, touch: Touch) -> int:
        """Return the time at which all that an instruction waits for is done."""
        ready, times = 0, self.times
        for place in touch.waits:
            if times[place] > ready:
                ready = times[place]
        for marks in touch.moving_waits:
            for place in marks.of(self.values, self.slot):
                if times[place] > ready:
                    ready = times[place]
        return ready

    def _count(self, tally: Sequence[tuple[Key, int]]) -> None:
        for key, number in tally:
            if (at := self.keys.get(key)) is None:
                at = self.keys[key] = len(self.totals)
                self.totals.append(0)
            self.totals[at] += number

    def _open(self, nest: Nest) -> None:
        """Issue the work before the first iteration of a nest: its prologue."""
        if nest in self._opened:
            return
        self._opened.add(nest)
        self._enter(self.layout.entries[nest])
        first = self.first.get(nest, 0)
        for ahead in self.layout.ahead[nest]:
            for number in range(min(ahead, nest.trips)):
                self._issue_ahead(nest, first, number, ahead)

    def _nest(self, nest: Nest) -> None:
        self._open(nest)
        self._opened.discard(nest)
        first = self.first.get(nest, 0)
        self._enter(self.layout.late[nest])
        self.model.time += self._issue
        self._sweep(nest).run(self, first)
        self.first[nest] = (first + nest.trips) % nest.slots
        for queue, touch in self.layout.exits[nest]:
            self._mark(touch, self.model.done[queue])

    def _enter(self, waiting: Sequence[tuple[int, Touch]]) -> None:
        """Let engines wait for what stands before a nest."""
        free = self.model.free
        for queue, touch in waiting:
            free[queue] = max(free[queue], self._ready(touch))

    def _sweep(self, nest: Nest) -> Sweep:
        if nest not in self._sweeps:
            self._sweeps[nest] = Sweep(nest)
        return self._sweeps[nest]

    def iteration(self, nest: Nest, first: int, number: int) -> None:
        """One iteration of a nest whose slots start at `first`."""
        if self.most is not None and self.steps > self.most:
            raise TooManyStepsError
        self.model.time += self._issue * ADVANCE * len(self.layout.ahead[nest])
        turned, trips = -1, nest.trips
        for item in nest.body:
            at = number + (item.ahead if isinstance(item, Step) else 0)
            if at >= trips:
                continue
            if at != turned:
                self._turn(nest, first, turned := at)
            if isinstance(item, Nest):
                self._nest(item)
            else:
                self._step(item)

    def _issue_ahead(self, nest: Nest, first: int, number: int, ahead: int) -> None:
        """
        Issue the steps of an iteration that come `ahead` iterations before its own.
        """
        self._turn(nest, first, number)
        for item in nest.body:
            if isinstance(item, Step) and item.ahead == ahead:
                if ahead == 1:
                    # Which iteration this is, is known.
                    self.model.time -= self._issue * self.lines.folded[item]
                self._step(item)

    def _turn(self, nest: Nest, first: int, number: int) -> None:
        """Let counters and slots be those of an iteration."""
        self.slot[nest] = (first + number) % nest.slots
        for variable in reversed(nest.variables):
            number, place = divmod(number, variable.trips)
            self.values[variable] = variable.lower + variable.step * place

    def state(self) -> list[int]:
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

    def restore(self, state: Sequence[int]) -> None:
        """Go back, or ahead, to a state."""
        model, rest = self.model, iter(state)
        model.time = next(rest)
        for group in (model.free, model.done, model.channels, self.times, self.totals):
            for number in range(len(group)):
                group[number] = next(rest, 0)

    def totals_by_key(self) -> dict[Key, int]:
        """Return the sums of the instructions' tallies."""
        return {key: self.totals[at] for key, at in self.keys.items()}


def run(
    items: Sequence[Item], costs: Costs, sharing: Sharing, most: int | None = None
) -> Clock:
    """
    Run a schedule from rest, whose buffers share bytes. Raises `TooManyStepsError`
    where that takes more instructions than `most`.
    """
    clock = Clock(costs, Layout.of(items, sharing), Lines.of(items), most)
    clock.run(items)
    return clock
