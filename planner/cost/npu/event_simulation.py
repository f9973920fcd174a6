"""
Cost model of an NPU program by event simulation, without IR: loops over instructions
that access buffers.

The simulation uses the event model of the simulator, `tlf.machine.event_model`.
Instructions of different engines are ordered if they access the same slot of a buffer
and one of them writes, as semaphores order them in the compiled program. Loops are
extrapolated once their iterations are periodic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts
from tlf.machine.steady_state import entrywise_change_between, extrapolate_entries
from tlf.planner.cost.npu.event_program import (
    EventItem,
    EventLoop,
    EventProgram,
    EventTask,
    Item,
    Loop,
    Task,
)
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.planner.settings.search_budgets import TILE_SEARCH


def busy_cycles_by_engine(items: Sequence[Item], executions: int = 1) -> dict[int, int]:
    """
    Return the busy cycles of each engine, by queue, and of each shared channel, by `-1
    - channel`.
    """
    total: dict[int, int] = {}
    _add_busy_cycles(items, executions, total)
    return total


def _add_busy_cycles(
    items: Sequence[Item], executions: int, total: dict[int, int]
) -> None:
    """Add the busy cycles of some executions of items to a total."""
    for item in items:
        if isinstance(item, Loop):
            _add_busy_cycles(item.body, executions * item.trips, total)
            continue
        cost = item.cost
        total[cost.queue] = total.get(cost.queue, 0) + cost.cycles * executions
        for channel, cycles in cost.channel_occupancy:
            total[-1 - channel] = total.get(-1 - channel, 0) + cycles * executions


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
        self._issue = costs.machine.issue_cycles * CONTROL_CODE.issue_instructions
        program = EventProgram(items)
        self._place = [*program.first_entries]
        """Index of the first entry of each buffer's current slot."""
        self._times = [0] * program.entry_count
        """Times of the last accesses."""
        self._run_items(program.items)

    @property
    def end_cycles(self) -> int:
        """End of the program, in cycles."""
        return self.model.end_time

    def _run_items(self, items: Iterable[EventItem]) -> None:
        """Simulate tasks and loops in sequence, advancing the times of the timeline."""
        for item in items:
            if isinstance(item, EventTask):
                self._run_task(item)
            else:
                self._run_loop(item)

    def _run_task(self, task: EventTask) -> None:
        """
        Issue a task on its engine after conflicting accesses by other engines, and
        record its end in the slots that it accesses.
        """
        model, times, place = self.model, self._times, self._place
        cost = task.cost
        starts, queue = model.next_start_times, cost.queue
        ready = starts[queue]
        for buffer, position in task.awaited:
            if (time := times[place[buffer] + position]) > ready:
                ready = time
        starts[queue] = ready
        model.time += self._issue
        model.execute_instruction(cost)
        done = model.result_times[queue]
        for buffer, position in task.accessed:
            times[place[buffer] + position] = done

    def _run_loop(self, loop: EventLoop) -> None:
        """
        Simulate prefetches and iterations of a loop; extrapolate if two periods of
        slots change times alike, or after `steady_periods`.
        """
        for iteration in range(-loop.max_prefetch_distance, 0):
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

    def _run_iteration(self, loop: EventLoop, iteration: int) -> None:
        """Run one iteration; a negative `iteration` only issues prefetched tasks."""
        self._select_buffer_slots(loop, iteration)
        for distance, items in loop.body:
            if not distance:
                if iteration >= 0:
                    self._run_items(items)
            elif 0 <= iteration + distance < loop.trips:
                self._select_buffer_slots(loop, iteration + distance)
                self._run_items(items)
                self._select_buffer_slots(loop, iteration)

    def _select_buffer_slots(self, loop: EventLoop, iteration: int) -> None:
        """Set slotted buffers to the slot of an iteration."""
        slot = iteration % loop.slot_count
        for buffer, first, width in loop.multi_buffers:
            self._place[buffer] = first + slot * width

    def _save_state(self) -> list[int]:
        return self.model.save_times() + self._times

    def _restore_state(self, state: Sequence[int]) -> None:
        """
        Set the times of the event model and of all buffer accesses to a saved state.
        """
        times = iter(state)
        self.model.restore_times(times)
        self._times[:] = islice(times, len(self._times))


def simulate_cycles(items: Sequence[Item], costs: InstructionCosts) -> int:
    """Return the cycles of a program on an idle machine."""
    return Timeline(items, costs).end_cycles
