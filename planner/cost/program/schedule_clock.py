"""
Cost model of NPU tile programs, without IR: execution of a schedule on the event model
of the machine.

Instructions of different engines are ordered if they access the same slot or slices of
a buffer and one of them writes. A nest waits as a whole for preceding instructions, as
the semaphores of the compiled program do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts, Key
from tlf.planner.cost.program.instruction_nests import (
    Instruction,
    Item,
    LoopCounter,
    Nest,
)
from tlf.planner.cost.program.issue_slots import IssueSlots, count_index_slots
from tlf.planner.cost.program.loop_extrapolation import NestSweep
from tlf.planner.cost.program.timestamp_layout import TimestampAccess, TimestampLayout
from tlf.planner.settings.control_code import CONTROL_CODE


class TooManyInstructionsError(Exception):
    """A schedule exceeds the maximum number of executed instructions."""


@dataclass
class ScheduleClock:
    """Simulator of a machine that runs a schedule: times, counters, slots, totals."""

    costs: InstructionCosts
    layout: TimestampLayout
    issue_slots: IssueSlots
    max_instructions: int | None = None
    """Maximum number of executed instructions; extrapolated ones do not count."""
    model: EventModel = field(init=False)
    counter_values: dict[LoopCounter, int] = field(
        init=False, default_factory=dict[LoopCounter, int]
    )
    current_slots: dict[Nest, int] = field(init=False, default_factory=dict[Nest, int])
    """Slot of the current iteration of each nest."""
    first_slots: dict[Nest, int] = field(init=False, default_factory=dict[Nest, int])
    """Slot of the first iteration of the next execution of each nest."""
    totals: list[int] = field(init=False)
    """Sums of the instructions' tallies, indexed by `keys`."""
    total_indices: dict[Key, int] = field(init=False, default_factory=dict[Key, int])
    executed_count: int = field(init=False, default=0)
    """Number of executed instructions; extrapolated ones do not count."""

    def __post_init__(self) -> None:
        self.model = EventModel.of_idle_machine(self.costs, 0)
        self.times = [0] * self.layout.timestamp_count
        self.totals = []
        self._issue = self.costs.machine.issue_cycles
        self.model.time = self._issue * self.issue_slots.initial_slots
        self._sweeps: dict[Nest, NestSweep] = {}
        self._opened: set[Nest] = set()

    def run_items(self, items: Sequence[Item]) -> None:
        """Simulate items in sequence, which advances the clock; prologues run first."""
        for item in items:
            if isinstance(item, Nest):
                if item.prologue_nest is not None:
                    self._run_prologue(item.prologue_nest)
                self._run_nest(item)
            else:
                self._run_instruction(item)

    def _run_instruction(self, instruction: Instruction) -> None:
        """
        Execute an instruction after its dependences, advance the issue time and record
        its completion; waits take no time of their own.
        """
        if instruction.completed_moves:
            return
        self.executed_count += 1
        model, queue = self.model, instruction.queue
        model.time += self._issue * self.issue_slots.slots_before[instruction]
        touch = self.layout.access_by_instruction[instruction]
        ready = self._dependences_ready_time(touch)
        if ready > model.next_start_times[queue]:
            model.next_start_times[queue] = ready
        for cost in instruction.cost.costs_at(self.counter_values):
            model.execute_instruction(cost)
            self._add_tally_to_totals(cost.counter_increments)
        model.time += self._issue * self.issue_slots.slots_after[instruction]
        self._record_completion(touch, model.result_times[queue])

    def _record_completion(
        self, timestamps: TimestampAccess, completion_time: int
    ) -> None:
        """Set all timestamps that an instruction sets to its completion time."""
        times = self.times
        for index in timestamps.fixed_marks:
            times[index] = completion_time
        for marks in timestamps.moving_marks:
            for index in marks.positions_at(self.counter_values, self.current_slots):
                times[index] = completion_time

    def _dependences_ready_time(self, timestamps: TimestampAccess) -> int:
        """Return the time at which all dependences of an instruction are complete."""
        ready, times = 0, self.times
        for index in timestamps.fixed_waits:
            if times[index] > ready:
                ready = times[index]
        for marks in timestamps.moving_waits:
            for index in marks.positions_at(self.counter_values, self.current_slots):
                if times[index] > ready:
                    ready = times[index]
        return ready

    def _add_tally_to_totals(self, tally: Sequence[tuple[Key, int]]) -> None:
        """
        Add the counts of an instruction to `totals`, with a new entry for each unknown
        key.
        """
        for key, count in tally:
            if (index := self.total_indices.get(key)) is None:
                index = self.total_indices[key] = len(self.totals)
                self.totals.append(0)
            self.totals[index] += count

    def _run_prologue(self, nest: Nest) -> None:
        """Issue the prologue of a nest: the instructions before its first iteration."""
        if nest in self._opened:
            return
        self._opened.add(nest)
        self._wait_before_nest(self.layout.entry_waits_by_nest[nest])
        first = self.first_slots.get(nest, 0)
        for ahead in self.layout.prefetch_distances_by_nest[nest]:
            for iteration in range(min(ahead, nest.trip_count)):
                self._issue_prefetched_instructions(nest, first, iteration, ahead)

    def _run_nest(self, nest: Nest) -> None:
        """
        Run the prologue and all iterations of a nest, advance its first slot, and
        record the completion of outer accesses.
        """
        self._run_prologue(nest)
        self._opened.discard(nest)
        first = self.first_slots.get(nest, 0)
        self._wait_before_nest(self.layout.late_waits_by_nest[nest])
        self.model.time += self._issue
        self._run_iterations(nest, first)
        self.first_slots[nest] = (first + nest.trip_count) % nest.slot_count
        self._mark_after_nest(self.layout.exit_marks_by_nest[nest])

    def _run_iterations(self, nest: Nest, first_slot: int) -> None:
        """Run all iterations of a nest whose slots start at `first_slot`."""
        self._nest_sweep_of(nest).run_nest(self, first_slot)

    def _mark_after_nest(
        self, marks_by_engine: Sequence[tuple[int, TimestampAccess]]
    ) -> None:
        """Record the completion of engines' accesses in a nest."""
        for queue, touch in marks_by_engine:
            self._record_completion(touch, self.model.result_times[queue])

    def _wait_before_nest(
        self, waits_by_engine: Sequence[tuple[int, TimestampAccess]]
    ) -> None:
        """Make engines wait for conflicting accesses before a nest."""
        free = self.model.next_start_times
        for queue, touch in waits_by_engine:
            free[queue] = max(free[queue], self._dependences_ready_time(touch))

    def _nest_sweep_of(self, nest: Nest) -> NestSweep:
        if nest not in self._sweeps:
            self._sweeps[nest] = NestSweep(nest)
        return self._sweeps[nest]

    def run_iteration(self, nest: Nest, first_slot: int, iteration_index: int) -> None:
        """Run one iteration of a nest whose slots start at `first_slot`."""
        if (
            self.max_instructions is not None
            and self.executed_count > self.max_instructions
        ):
            raise TooManyInstructionsError
        distances = self.layout.prefetch_distances_by_nest[nest]
        self.model.time += self._issue * (
            CONTROL_CODE.early_index_slots * len(distances) + count_index_slots(nest)
        )
        bound, trips = -1, nest.trip_count
        for item in nest.body:
            iteration = iteration_index + (
                item.prefetch_distance if isinstance(item, Instruction) else 0
            )
            if iteration >= trips:
                continue
            if iteration != bound:
                self._set_iteration(nest, first_slot, bound := iteration)
            if isinstance(item, Nest):
                self._run_nest(item)
            else:
                self._run_instruction(item)

    def _issue_prefetched_instructions(
        self, nest: Nest, first_slot: int, iteration_index: int, prefetch_distance: int
    ) -> None:
        """
        Issue the instructions of an iteration with prefetch distance
        `prefetch_distance`.
        """
        self._set_iteration(nest, first_slot, iteration_index)
        for item in nest.body:
            if (
                isinstance(item, Instruction)
                and item.prefetch_distance == prefetch_distance
            ):
                if prefetch_distance == 1:
                    # The index of this iteration is a constant.
                    self.model.time -= self._issue * self.issue_slots.folded_slots[item]
                self._run_instruction(item)

    def _set_iteration(self, nest: Nest, first_slot: int, iteration_index: int) -> None:
        """Set a nest's counters and slot to those of iteration `iteration_index`."""
        self.current_slots[nest] = (first_slot + iteration_index) % nest.slot_count
        for variable in reversed(nest.counters):
            iteration_index, index = divmod(iteration_index, variable.trips)
            self.counter_values[variable] = variable.lower + variable.step * index

    @property
    def lane_values(self) -> Sequence[dict[LoopCounter, int]]:
        """Values of the loop counters on each core that runs."""
        return (self.counter_values,)

    def save_state(self) -> list[int]:
        """Return all times and totals."""
        return self.model.save_times() + self.times + self.totals

    def restore_state(self, state: Sequence[int]) -> None:
        """Overwrite all times and totals with those of a saved state."""
        values = iter(state)
        self.model.restore_times(values)
        for group in (self.times, self.totals):
            group[:] = [next(values, 0) for _ in group]

    def totals_by_key(self) -> dict[Key, int]:
        """Return the sums of the instructions' tallies."""
        return {key: self.totals[index] for key, index in self.total_indices.items()}
