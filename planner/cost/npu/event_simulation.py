"""
Cost model of an NPU program by event simulation, without IR: loops over instructions
that access buffers.

The simulation uses the event model of the simulator, `tlf.machine.event_model`.
Instructions of different engines are ordered if they access the same slot of a buffer
and one of them writes, as semaphores order them in the compiled program. Loops are
extrapolated once their iterations are periodic.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple, TypeAlias

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.machine.steady_state import entrywise_change_between, extrapolate_entries
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.planner.settings.search_budgets import TILE_SEARCH

Buffer: TypeAlias = Hashable


@dataclass(frozen=True)
class Task:
    """An instruction and the buffers that it accesses."""

    cost: Cost
    reads: tuple[Buffer, ...] = ()
    writes: tuple[Buffer, ...] = ()
    prefetch_distance: int = 0
    """Prefetch distance: the number of iterations by which it is issued early."""


@dataclass(frozen=True)
class Loop:
    """
    `trips` iterations of a body. Each iteration uses the next of `slot_count` slots of
    the buffers in `multi_buffers`.
    """

    trips: int
    body: tuple[Task | Loop, ...]
    multi_buffers: frozenset[Buffer] = frozenset()
    slot_count: int = 1


Item: TypeAlias = Task | Loop


class _IndexedTask(NamedTuple):
    """A `Task` with buffer indices."""

    cost: Cost
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    prefetch_distance: int


class _IndexedLoop(NamedTuple):
    """A `Loop` with buffer indices."""

    trips: int
    body: tuple[_IndexedTask | _IndexedLoop, ...]
    multi_buffers: tuple[int, ...]
    slot_count: int


_Item: TypeAlias = _IndexedTask | _IndexedLoop


def _index_buffers(
    items: Sequence[Item], buffer_indices: Mapping[Buffer, int]
) -> tuple[_Item, ...]:
    """Return a program with buffer indices, which are faster to look up."""

    def numbers_of(buffers: Iterable[Buffer]) -> tuple[int, ...]:
        return tuple(buffer_indices[each] for each in buffers)

    return tuple(
        _IndexedTask(
            item.cost,
            numbers_of(item.reads),
            numbers_of(item.writes),
            item.prefetch_distance,
        )
        if isinstance(item, Task)
        else _IndexedLoop(
            item.trips,
            _index_buffers(item.body, buffer_indices),
            numbers_of(item.multi_buffers),
            item.slot_count,
        )
        for item in items
    )


def busy_cycles_by_engine(items: Sequence[Item], executions: int = 1) -> dict[int, int]:
    """
    Return the busy cycles of each engine, by queue, and of each shared channel, by `-1
    - channel`.
    """
    total: dict[int, int] = {}
    for item in items:
        if isinstance(item, Task):
            cost = item.cost
            total[cost.queue] = total.get(cost.queue, 0) + cost.cycles * executions
            for channel, cycles in cost.channel_occupancy:
                total[-1 - channel] = total.get(-1 - channel, 0) + cycles * executions
            continue
        for queue, cycles in busy_cycles_by_engine(
            item.body, executions * item.trips
        ).items():
            total[queue] = total.get(queue, 0) + cycles
    return total


def serial_cycles_of(items: Sequence[Item], executions: int = 1) -> int:
    """Return the cycles of a program without any overlap, including latencies."""
    return sum(
        (item.cost.cycles + item.cost.latency) * executions
        if isinstance(item, Task)
        else serial_cycles_of(item.body, executions * item.trips)
        for item in items
    )


class Timeline:
    """Event simulation of a program, which the constructor runs to the end."""

    def __init__(self, items: Sequence[Item], costs: InstructionCosts) -> None:
        self.model = EventModel.of_idle_machine(costs, 0)
        self._engines = len(self.model.next_start_times)
        engines = range(self._engines)
        self._others = [[n for n in engines if n != queue] for queue in engines]
        self._issue = costs.machine.issue_cycles * CONTROL_CODE.issue_instructions
        slots = _slot_counts_by_buffer(items)
        *self._first, size = accumulate(
            (count * self._engines for count in slots.values()), initial=0
        )
        """
        Index of the first time of each buffer, by buffer index; times are ordered by
        slot, then by engine.
        """
        self._place = [*self._first]
        """Indices of the times of each buffer's current slot."""
        self._written = [0] * size
        self._read = [0] * size
        self._run_items(
            _index_buffers(items, {each: n for n, each in enumerate(slots)})
        )

    @property
    def end_cycles(self) -> int:
        """End of the program, in cycles."""
        return self.model.end_time

    def _run_items(self, items: Sequence[_Item]) -> None:
        """Simulate tasks and loops in sequence, advancing the times of the timeline."""
        for item in items:
            if isinstance(item, _IndexedTask):
                self._run_task(item)
            else:
                self._run_loop(item)

    def _run_task(self, task: _IndexedTask) -> None:
        """
        Issue a task on its engine after conflicting accesses by other engines, and
        record its end in the slots that it accesses.
        """
        model, queue = self.model, task.cost.queue
        reads = [self._place[each] for each in task.reads]
        writes = [self._place[each] for each in task.writes]
        ready = max(
            self._latest_access_time(self._written, (*reads, *writes), queue),
            self._latest_access_time(self._read, writes, queue),
        )
        model.time += self._issue
        model.next_start_times[queue] = max(model.next_start_times[queue], ready)
        model.execute_instruction(task.cost)
        done = model.result_times[queue]
        for index in reads:
            self._read[index + queue] = done
        for index in writes:
            self._written[index + queue] = done

    def _latest_access_time(
        self, access_times: list[int], slot_indices: Sequence[int], queue: int
    ) -> int:
        """
        Return the latest time at which another engine completed an access to some
        slots.
        """
        latest, others = 0, self._others[queue]
        for index in slot_indices:
            for engine in others:
                if (time := access_times[index + engine]) > latest:
                    latest = time
        return latest

    def _run_loop(self, loop: _IndexedLoop) -> None:
        """
        Simulate prefetches and iterations of a loop; extrapolate if two periods of
        slots change times alike, or after `steady_periods`.
        """
        ahead = max(
            (
                item.prefetch_distance
                for item in loop.body
                if isinstance(item, _IndexedTask)
            ),
            default=0,
        )
        for iteration in range(-ahead, 0):
            self._run_iteration(loop, iteration)
        period, remaining, periods = loop.slot_count, loop.trips, 0
        last: tuple[int, ...] = ()
        while remaining > 0:
            before = self._save_state()
            for _ in range(min(period, remaining)):
                self._run_iteration(loop, loop.trips - remaining)
                remaining -= 1
            if remaining < period:
                continue
            periods += 1
            after = self._save_state()
            change = entrywise_change_between(before, after)
            if change == last or periods == TILE_SEARCH.steady_periods:
                self._restore_state(
                    extrapolate_entries(after, change, remaining // period)
                )
                remaining %= period
            last = change

    def _run_iteration(self, loop: _IndexedLoop, iteration: int) -> None:
        """Run one iteration; a negative `iteration` only issues prefetched tasks."""
        self._select_buffer_slots(loop, iteration)
        for item in loop.body:
            if isinstance(item, _IndexedLoop):
                if iteration >= 0:
                    self._run_loop(item)
            elif not item.prefetch_distance:
                if iteration >= 0:
                    self._run_task(item)
            elif 0 <= iteration + item.prefetch_distance < loop.trips:
                self._select_buffer_slots(loop, iteration + item.prefetch_distance)
                self._run_task(item)
                self._select_buffer_slots(loop, iteration)

    def _select_buffer_slots(self, loop: _IndexedLoop, iteration: int) -> None:
        """Set slotted buffers to the slot of an iteration."""
        slot = iteration % loop.slot_count * self._engines
        for buffer in loop.multi_buffers:
            self._place[buffer] = self._first[buffer] + slot

    def _save_state(self) -> list[int]:
        return self.model.save_times() + self._written + self._read

    def _restore_state(self, state: Sequence[int]) -> None:
        """
        Set the times of the event model and of all buffer accesses to a saved state.
        """
        times = iter(state)
        self.model.restore_times(times)
        for values in (self._written, self._read):
            values[:] = islice(times, len(values))


def _slot_counts_by_buffer(items: Sequence[Item]) -> dict[Buffer, int]:
    """Return the maximum number of slots of each buffer that `items` access."""
    slots: dict[Buffer, int] = {}
    for item in items:
        if isinstance(item, Task):
            counts = dict.fromkeys((*item.reads, *item.writes), 1)
        else:
            counts = _slot_counts_by_buffer(item.body) | dict.fromkeys(
                item.multi_buffers, item.slot_count
            )
        for buffer, count in counts.items():
            slots[buffer] = max(slots.get(buffer, 1), count)
    return slots


def simulate_cycles(items: Sequence[Item], costs: InstructionCosts) -> int:
    """Return the cycles of a program on an idle machine."""
    return Timeline(items, costs).end_cycles
