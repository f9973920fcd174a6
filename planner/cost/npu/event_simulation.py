"""
Cost model of an NPU program by event simulation, without IR: loops over instructions
that access buffers.

The times are those of the event model of the simulator, `tlf.machine.event_model`.
Instructions of different engines are ordered if they access the same slot of a buffer
and one of them writes, as semaphores order them in the compiled program. Loops are
extrapolated once their iterations are periodic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tlf.machine.instruction_costs import InstructionCosts
from tlf.machine.steady_state import entrywise_change_between, extrapolate_entries
from tlf.planner.cost.npu.event_program import (
    EventItem,
    EventLoop,
    EventProgram,
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
    """
    Event simulation of a program, which the constructor runs to the end. Its state is
    one list: the time of the control processor, those of engines and channels as in
    `EventModel`, and the times of the last accesses to buffers.
    """

    def __init__(self, items: Sequence[Item], costs: InstructionCosts) -> None:
        engines, channels = len(costs.machine.engine_units), len(costs.channel_levels)
        self._issue = costs.machine.issue_cycles * CONTROL_CODE.issue_instructions
        program = EventProgram(items)
        self._first_result = 1 + engines
        self._first_channel = 1 + 2 * engines
        self._first_entry = self._first_channel + channels
        self._place = [self._first_entry + each for each in program.first_entries]
        """Index of the first entry of each buffer's current slot."""
        self._state = [0] * (self._first_entry + program.entry_count)
        self._run_items(program.items)

    @property
    def end_cycles(self) -> int:
        """End of the program, in cycles."""
        return max(self._state[: self._first_channel])

    def _run_items(self, items: Iterable[EventItem]) -> None:
        """
        Simulate tasks and loops in sequence, advancing the times of the timeline. A
        task is issued on its engine after conflicting accesses by other engines; its
        end is recorded in the slots that it accesses.
        """
        state, place = self._state, self._place
        for item in items:
            if isinstance(item, EventLoop):
                self._run_loop(item)
                continue
            cost, awaited, accessed, _ = item
            queue = cost.queue
            state[0] = start = state[0] + self._issue
            if (time := state[1 + queue]) > start:
                start = time
            for buffer, position in awaited:
                if (time := state[place[buffer] + position]) > start:
                    start = time
            end = start + cost.cycles
            for channel, cycles in cost.channel_occupancy:
                index = self._first_channel + channel
                state[index] = time = max(start, state[index]) + cycles
                if time > end:
                    end = time
            state[1 + queue] = end
            done, index = end + cost.latency, self._first_result + queue
            if (time := state[index]) > done:
                done = time
            state[index] = done
            for buffer, position in accessed:
                state[place[buffer] + position] = done

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
            before = self._state.copy()
            for _ in range(min(period, remaining)):
                self._run_iteration(loop, loop.trips - remaining)
                remaining -= 1
            if remaining < period:
                continue
            periods += 1
            change = entrywise_change_between(before, self._state)
            if change == last or periods == TILE_SEARCH.steady_periods:
                self._state[:] = extrapolate_entries(
                    self._state, change, remaining // period
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
            self._place[buffer] = self._first_entry + first + slot * width


def simulate_cycles(items: Sequence[Item], costs: InstructionCosts) -> int:
    """Return the cycles of a program on an idle machine."""
    return Timeline(items, costs).end_cycles
