"""
Event simulation of a program: loops over instructions that access buffers.

It runs on the event model that the simulator uses, `tlf.machine.event_model`.
Instructions of different engines are ordered where they touch the same slot of a buffer
and one writes, as semaphores order them in the program that is compiled. A loop whose
iterations settle into a period is not followed any further.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Cost, InstructionCosts

Buffer: TypeAlias = Hashable

PATIENCE = 6
"""After so many periods a loop is taken to have settled."""

LINES = 4
"""Lines of the control processor for an instruction: addresses, a signal, a wait."""


@dataclass(frozen=True)
class Task:
    """An instruction and the buffers it touches."""

    cost: Cost
    reads: tuple[Buffer, ...] = ()
    writes: tuple[Buffer, ...] = ()
    ahead: int = 0
    """Number of iterations before its own in which it is issued."""


@dataclass(frozen=True)
class Loop:
    """
    `trips` iterations of a body. Of the buffers in `slotted` every iteration uses the
    next of `slots` slots.
    """

    trips: int
    body: tuple[Task | Loop, ...]
    slotted: frozenset[Buffer] = frozenset()
    slots: int = 1


Item: TypeAlias = Task | Loop


class _Task(NamedTuple):
    """The same with numbers for buffers."""

    cost: Cost
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    ahead: int


class _Loop(NamedTuple):
    """The same with numbers for buffers."""

    trips: int
    body: tuple[_Task | _Loop, ...]
    slotted: tuple[int, ...]
    slots: int


_Item: TypeAlias = _Task | _Loop


def _number_buffers(
    items: Sequence[Item], numbers: Mapping[Buffer, int]
) -> tuple[_Item, ...]:
    """A program with numbers for buffers, which are faster to look up."""

    def numbers_of(buffers: Iterable[Buffer]) -> tuple[int, ...]:
        return tuple(numbers[each] for each in buffers)

    return tuple(
        _Task(item.cost, numbers_of(item.reads), numbers_of(item.writes), item.ahead)
        if isinstance(item, Task)
        else _Loop(
            item.trips,
            _number_buffers(item.body, numbers),
            numbers_of(item.slotted),
            item.slots,
        )
        for item in items
    )


def busy_cycles_of(items: Sequence[Item], times: int = 1) -> dict[int, int]:
    """The cycles that instructions occupy each engine, and each shared channel."""
    total: dict[int, int] = {}
    for item in items:
        if isinstance(item, Task):
            cost = item.cost
            total[cost.queue] = total.get(cost.queue, 0) + cost.cycles * times
            for channel, cycles in cost.shared:
                total[-1 - channel] = total.get(-1 - channel, 0) + cycles * times
            continue
        for queue, cycles in busy_cycles_of(item.body, times * item.trips).items():
            total[queue] = total.get(queue, 0) + cycles
    return total


def serial_cycles_of(items: Sequence[Item], times: int = 1) -> int:
    """The cycles of instructions one by one, each until its result is there."""
    return sum(
        (item.cost.cycles + item.cost.latency) * times
        if isinstance(item, Task)
        else serial_cycles_of(item.body, times * item.trips)
        for item in items
    )


class Timeline:
    """
    Runs a program, for its time.
    """

    def __init__(self, items: Sequence[Item], costs: InstructionCosts) -> None:
        self.model = EventModel.of(costs, 0)
        self._engines = len(self.model.free)
        engines = range(self._engines)
        self._others = [[n for n in engines if n != queue] for queue in engines]
        self._issue = costs.machine.issue_cycles * LINES
        slots = _multibuffer_counts(items)
        *self._first, size = accumulate(
            (count * self._engines for count in slots.values()), initial=0
        )
        """
        Base indices of the times of each buffer, by its number; the times are by slot,
        then by engine.
        """
        self._place = [*self._first]
        """Indices of the times of each buffer's current slot."""
        self._written = [0] * size
        self._read = [0] * size
        self._run_items(
            _number_buffers(items, {each: n for n, each in enumerate(slots)})
        )

    @property
    def end_cycles(self) -> int:
        """End of the program, in cycles."""
        return self.model.end

    def _run_items(self, items: Sequence[_Item]) -> None:
        for item in items:
            if isinstance(item, _Task):
                self._run_task(item)
            else:
                self._run_loop(item)

    def _run_task(self, task: _Task) -> None:
        model, queue = self.model, task.cost.queue
        reads = [self._place[each] for each in task.reads]
        writes = [self._place[each] for each in task.writes]
        ready = max(
            self._latest_access(self._written, (*reads, *writes), queue),
            self._latest_access(self._read, writes, queue),
        )
        model.time += self._issue
        model.free[queue] = max(model.free[queue], ready)
        model.execute(task.cost)
        done = model.done[queue]
        for place in reads:
            self._read[place + queue] = done
        for place in writes:
            self._written[place + queue] = done

    def _latest_access(
        self, times: list[int], places: Sequence[int], queue: int
    ) -> int:
        """
        Return the latest time at which any other engine was done with some places.
        """
        latest, others = 0, self._others[queue]
        for place in places:
            for engine in others:
                if (time := times[place + engine]) > latest:
                    latest = time
        return latest

    def _run_loop(self, loop: _Loop) -> None:
        ahead = max(
            (item.ahead for item in loop.body if isinstance(item, _Task)), default=0
        )
        for early in range(-ahead, 0):
            self._run_iteration(loop, early)
        period, rest, rounds = loop.slots, loop.trips, 0
        last: list[int] = []
        while rest > 0:
            before = self._relative_state()
            for _ in range(min(period, rest)):
                self._run_iteration(loop, loop.trips - rest)
                rest -= 1
            if rest < period:
                continue
            rounds += 1
            pairs = zip(self._relative_state(), before, strict=True)
            delta = [after - start for after, start in pairs]
            if delta == last or rounds == PATIENCE:
                self._skip_periods(delta, rest // period)
                rest %= period
            last = delta

    def _run_iteration(self, loop: _Loop, number: int) -> None:
        """One iteration; one of a negative number only issues what comes early."""
        self._select_slot(loop, number)
        for item in loop.body:
            if isinstance(item, _Loop):
                if number >= 0:
                    self._run_loop(item)
            elif not item.ahead:
                if number >= 0:
                    self._run_task(item)
            elif 0 <= number + item.ahead < loop.trips:
                self._select_slot(loop, number + item.ahead)
                self._run_task(item)
                self._select_slot(loop, number)

    def _select_slot(self, loop: _Loop, number: int) -> None:
        """Turn slotted buffers to the slot of an iteration."""
        slot = number % loop.slots * self._engines
        for buffer in loop.slotted:
            self._place[buffer] = self._first[buffer] + slot

    def _relative_state(self) -> list[int]:
        model = self.model
        times = [model.time, *model.free, *model.done, *model.channels]
        return times + self._written + self._read

    def _skip_periods(self, delta: Sequence[int], times: int) -> None:
        """Let so many periods pass, each of which moves times by `delta`."""
        model, moved = self.model, iter(delta)
        model.time += next(moved) * times
        for values in (
            model.free,
            model.done,
            model.channels,
            self._written,
            self._read,
        ):
            for number in range(len(values)):
                values[number] += next(moved) * times


def _multibuffer_counts(items: Sequence[Item]) -> dict[Buffer, int]:
    """The buffers of a program, and how many slots each has."""
    found: dict[Buffer, int] = {}
    for item in items:
        if isinstance(item, Task):
            touched = dict.fromkeys((*item.reads, *item.writes), 1)
        else:
            touched = _multibuffer_counts(item.body) | dict.fromkeys(
                item.slotted, item.slots
            )
        for buffer, count in touched.items():
            found[buffer] = max(found.get(buffer, 1), count)
    return found


def simulate_cycles(items: Sequence[Item], costs: InstructionCosts) -> int:
    """Return the cycles of a program on an idle machine."""
    return Timeline(items, costs).end_cycles
