"""
Cost model of NPU tile programs, without IR: execution of a schedule on the event model
of a machine with several cores.

In a region, every core executes each line, in the order of the cores, and waits only
for its own instructions. Outside, an instruction waits for the engines of all cores, as
the semaphores of the compiled program do, and runs on the first core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.planner.cost.program.instruction_nests import (
    Instruction,
    LoopCounter,
    Nest,
    nests_in,
)
from tlf.planner.cost.program.schedule_clock import ScheduleClock
from tlf.planner.cost.program.timestamp_layout import TimestampAccess
from tlf.planner.settings.control_code import CONTROL_CODE


@dataclass
class CoreState:
    """Timestamps of a core, and the values of the loop counters on it."""

    core: int
    times: list[int]
    counter_values: dict[LoopCounter, int] = field(
        default_factory=dict[LoopCounter, int]
    )


class MulticoreClock(ScheduleClock):
    """
    Simulator of a machine of several cores that runs a schedule. Slots of a distributed
    nest, and of nests in it, start again with each of its executions, because the
    number of its iterations depends on the core.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        machine = self.costs.machine
        self._cores = [CoreState(0, self.times, self.counter_values)]
        self._cores += [
            CoreState(core, list(self.times)) for core in range(1, machine.cores)
        ]
        self._running: Sequence[CoreState] = self._cores
        self._is_in_region = False
        self._copies = {
            copies.start: copies
            for copies in (self.costs.queues_of(name) for name in machine.engines)
        }

    @property
    def lane_values(self) -> Sequence[dict[LoopCounter, int]]:
        """Values of the loop counters on each core that runs."""
        return [each.counter_values for each in self._running]

    def _select_core(self, core: CoreState) -> None:
        """Let the timestamps and counters of the clock be those of a core."""
        self.times, self.counter_values = core.times, core.counter_values

    def _run_instruction(self, instruction: Instruction) -> None:
        if instruction.completed_moves:
            return
        touch = self.layout.access_by_instruction[instruction]
        self.model.time += self._issue * self.issue_slots.slots_before[instruction]
        if self._is_in_region:
            for core in self._running:
                self._select_core(core)
                queue = instruction.queue + core.core
                self._wait_until([queue], self._dependences_ready_time(touch))
                self._execute(instruction, core.core)
                self._record_completion(touch, self.model.result_times[queue])
        else:
            self._wait_on_all_cores(instruction.queue, touch)
            self._execute(instruction, 0)
            self._record_on_all_cores(instruction.queue, touch)
        self.model.time += self._issue * self.issue_slots.slots_after[instruction]

    def _execute(self, instruction: Instruction, core: int) -> None:
        """Execute an instruction on a core, whose counters are selected."""
        self.executed_count += 1
        for cost in instruction.cost.costs_at(self.counter_values):
            self.model.execute_instruction(self.costs.move_cost_to_core(cost, core))
            self._add_tally_to_totals(cost.counter_increments)

    def _wait_until(self, queues: Sequence[int], ready: int) -> None:
        """Let engines start their next instructions not before a time."""
        free = self.model.next_start_times
        for queue in queues:
            free[queue] = max(free[queue], ready)

    def _wait_on_all_cores(self, queue: int, touch: TimestampAccess) -> None:
        """Let an engine wait on all cores until dependences on all are complete."""
        ready = 0
        for core in self._cores:
            self._select_core(core)
            ready = max(ready, self._dependences_ready_time(touch))
        self._wait_until(self._copies[queue], ready)
        self._select_core(self._cores[0])

    def _record_on_all_cores(self, queue: int, touch: TimestampAccess) -> None:
        """Record on all cores that an engine has completed its work on all of them."""
        time = max(self.model.result_times[each] for each in self._copies[queue])
        for core in self._cores:
            self._select_core(core)
            self._record_completion(touch, time)
        self._select_core(self._cores[0])

    def _wait_before_nest(
        self, waits_by_engine: Sequence[tuple[int, TimestampAccess]]
    ) -> None:
        for queue, touch in waits_by_engine:
            if not self._is_in_region:
                self._wait_on_all_cores(queue, touch)
                continue
            for core in self._running:
                self._select_core(core)
                ready = self._dependences_ready_time(touch)
                self._wait_until([queue + core.core], ready)

    def _mark_after_nest(
        self, marks_by_engine: Sequence[tuple[int, TimestampAccess]]
    ) -> None:
        for queue, touch in marks_by_engine:
            if not self._is_in_region:
                self._record_on_all_cores(queue, touch)
                continue
            for core in self._running:
                self._select_core(core)
                time = self.model.result_times[queue + core.core]
                self._record_completion(touch, time)

    def _run_nest(self, nest: Nest) -> None:
        before = self.issue_slots.waits_by_region.get(nest, 0)
        if nest.is_distributed and nest.slot_count > 1:
            before += CONTROL_CODE.core_bound_slots
        self.model.time += self._issue * before
        super()._run_nest(nest)
        self.model.time += self._issue * self.issue_slots.signals_by_region.get(nest, 0)
        if nest.is_distributed:
            self.first_slots[nest] = 0

    def _run_iterations(self, nest: Nest, first_slot: int) -> None:
        self._is_in_region |= nest.is_core_region
        super()._run_iterations(nest, first_slot)
        if nest.is_distributed:
            self._running = self._cores
        if nest.is_core_region:
            self._is_in_region = False
            self._select_core(self._cores[0])

    def run_iteration(self, nest: Nest, first_slot: int, iteration_index: int) -> None:
        """Run one iteration of a nest on each core that has one."""
        if nest.is_distributed:
            for inner in nests_in(nest.body):
                self.first_slots[inner] = 0
        super().run_iteration(nest, first_slot, iteration_index)

    def _set_iteration(self, nest: Nest, first_slot: int, iteration_index: int) -> None:
        if not nest.is_distributed:
            for core in self._cores:
                self._select_core(core)
                super()._set_iteration(nest, first_slot, iteration_index)
            return
        first, end = iteration_index * nest.core_count, nest.iteration_count
        self._running = self._cores[: end - first]
        for core in self._running:
            self._select_core(core)
            super()._set_iteration(nest, first_slot, first + core.core)
        self.current_slots[nest] = (first_slot + iteration_index) % nest.slot_count

    def save_state(self) -> list[int]:
        """Return all times and totals."""
        times = [time for core in self._cores for time in core.times]
        return self.model.save_times() + times + self.totals

    def restore_state(self, state: Sequence[int]) -> None:
        """Overwrite all times and totals with those of a saved state."""
        values = iter(state)
        self.model.restore_times(values)
        for group in (*(core.times for core in self._cores), self.totals):
            group[:] = [next(values, 0) for _ in group]
