"""
Cost model of the steady state of loops, without IR: a few iterations are executed, the
others extrapolated.

Iterations are equivalent if no move exceeds the bounds of its source and destination,
and repeat with the period of slots, rings and bursts. If periods at both ends take the
same time, so do those in between, as `tlf.machine.steady_state` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, lcm, prod
from typing import Protocol

from tlf.machine.steady_state import entrywise_change_between, extrapolate_entries
from tlf.planner.cost.program.instruction_nests import (
    AxisRange,
    BurstPhase,
    Instruction,
    LoopCounter,
    Nest,
    nests_in,
    step_of_index,
)
from tlf.planner.settings.search_budgets import TILE_SEARCH


class IterationRunner(Protocol):
    """Simulator of single iterations of nests, with a state to save and restore."""

    @property
    def lane_values(self) -> Sequence[dict[LoopCounter, int]]:
        """Values of the loop counters on each core that runs."""
        ...

    def run_iteration(self, nest: Nest, first_slot: int, iteration_index: int) -> None:
        """Run one iteration."""
        ...

    def save_state(self) -> list[int]:
        """Return the complete state."""
        ...

    def restore_state(self, state: Sequence[int]) -> None:
        """Set the complete state."""
        ...


@dataclass(frozen=True)
class SweepAxis:
    """One loop of a nest: the axis ranges that depend on it, and its period."""

    counter: LoopCounter
    axis_ranges: tuple[tuple[AxisRange, int], ...]
    """Axis ranges with their prefetch distances."""
    period: int
    """Period in steps."""
    inner_iterations: int
    """Iterations of a core in the nest per step."""
    iterations_per_step: int
    """
    Iterations of this loop per step: more than one if cores share the iterations of the
    inner loops unequally.
    """


@dataclass
class NestSweep:
    """Simulation of all iterations of a nest that extrapolates periodic ones."""

    nest: Nest
    axes: list[SweepAxis] = field(init=False)

    def __post_init__(self) -> None:
        nest = self.nest
        self._inside = {
            variable for each in nests_in(nest.body) for variable in each.counters
        }
        early = (
            each.prefetch_distance
            for each in nest.body
            if isinstance(each, Instruction)
        )
        self._ahead = max(early, default=0)
        self.axes = list(self._build_axes())

    def _build_axes(self) -> Iterator[SweepAxis]:
        """Yield the axes, up to one that the cores share unequally."""
        nest, cores = self.nest, self.nest.core_count
        for depth, variable in enumerate(nest.counters):
            block = prod(each.trips for each in nest.counters[depth + 1 :])
            count = cores // gcd(cores, block)
            block = block * count // cores
            ranges = dict.fromkeys(_axis_ranges_varying_with(nest, variable))
            period = _steps_until_state_repeats(nest, variable, block, count)
            yield SweepAxis(variable, tuple(ranges), period, block, count)
            if count > 1:
                return

    def run_nest(self, runner: IterationRunner, first_slot: int) -> None:
        """Run all iterations; `first_slot` is the slot of the first one."""
        self._run_loops_from_depth(runner, first_slot, 0, 0, self.nest.trip_count)

    def _run_loops_from_depth(
        self,
        runner: IterationRunner,
        first_slot: int,
        depth: int,
        first_iteration: int,
        iteration_count: int,
    ) -> None:
        """
        Run the loops from `depth` on: `iteration_count` iterations of a core from
        `first_iteration` on.
        """
        if depth == len(self.axes):
            for index in range(first_iteration, first_iteration + iteration_count):
                runner.run_iteration(self.nest, first_slot, index)
            return
        axis = self.axes[depth]
        steps = axis.counter.trips // axis.iterations_per_step

        def run_step(index: int) -> None:
            variable, block = axis.counter, axis.inner_iterations
            position = index * axis.iterations_per_step
            for values in runner.lane_values:
                values[variable] = variable.lower + variable.step * position
            first = first_iteration + index * block
            self._run_loops_from_depth(runner, first_slot, depth + 1, first, block)

        begin, end = self._steps_in_bounds(runner, axis, depth)
        for index in range(begin):
            run_step(index)
        _run_periodic_iterations(runner, run_step, begin, end, axis.period)
        for index in range(end, steps):
            run_step(index)
        done = steps * axis.inner_iterations
        for index in range(first_iteration + done, first_iteration + iteration_count):
            runner.run_iteration(self.nest, first_slot, index)

    def _steps_in_bounds(
        self, runner: IterationRunner, axis: SweepAxis, depth: int
    ) -> tuple[int, int]:
        """Return the range of steps in which all axis ranges are in bounds."""
        ranges = [
            self._iterations_in_bounds(values, axis, depth)
            for values in runner.lane_values
        ]
        size, steps = (
            axis.iterations_per_step,
            axis.counter.trips // axis.iterations_per_step,
        )
        begin = -(-max(first for first, _ in ranges) // size)
        end = min(last for _, last in ranges) // size
        return (begin, end) if begin < end else (steps, steps)

    def _iterations_in_bounds(
        self, values: Mapping[LoopCounter, int], axis: SweepAxis, depth: int
    ) -> tuple[int, int]:
        """
        Return the range of iterations in which all axis ranges of a loop are in bounds.
        """
        variable = axis.counter
        free = self._inside | set(self.nest.counters[depth + 1 :])
        begin, end = (
            0,
            variable.trips - self._prefetch_distance_along(axis, self._ahead),
        )
        for axis_range, ahead in axis.axis_ranges:
            factor, least, most = _offset_range(axis_range, variable, free, values)
            low, high = -least, axis_range.axis_extent - axis_range.size - most
            first = -(-low // factor) if factor > 0 else -(-high // factor)
            last = high // factor if factor > 0 else low // factor
            begin = max(begin, first)
            end = min(end, last + 1 - self._prefetch_distance_along(axis, ahead))
        return begin, end

    @staticmethod
    def _prefetch_distance_along(axis: SweepAxis, prefetch_distance: int) -> int:
        """Return the prefetch distance of moves in iterations of a loop."""
        steps = (
            prefetch_distance
            if axis.inner_iterations == 1
            else min(prefetch_distance, 1)
        )
        return steps * axis.iterations_per_step


def _offset_range(
    axis_range: AxisRange,
    counter: LoopCounter,
    inner_counters: set[LoopCounter],
    values: Mapping[LoopCounter, int],
) -> tuple[int, int, int]:
    """
    Return the step of an offset per iteration of a loop, and its minimum and maximum
    over the inner loops in iteration 0.
    """
    ranges = dict[Hashable, tuple[int, int]]()
    for symbol, _ in axis_range.offset.terms:
        assert isinstance(symbol, LoopCounter)
        first = (
            symbol.lower
            if symbol is counter or symbol in inner_counters
            else values[symbol]
        )
        ranges[symbol] = (
            first,
            symbol.last_value if symbol in inner_counters else first,
        )
    return step_of_index(axis_range.offset, counter), *axis_range.offset.value_bounds(
        ranges
    )


def _axis_ranges_varying_with(
    nest: Nest, counter: LoopCounter
) -> Iterator[tuple[AxisRange, int]]:
    """
    Yield the axis ranges of a nest's instructions that depend on `counter`, with the
    prefetch distance.
    """
    for step in nest.instructions():
        ahead = step.prefetch_distance if step in nest.body else 0
        for axis_range in step.cost.axis_ranges:
            if any(symbol is counter for symbol, _ in axis_range.offset.terms):
                yield axis_range, ahead


def _steps_until_state_repeats(
    nest: Nest, counter: LoopCounter, inner_iterations: int, iterations_per_step: int
) -> int:
    """Return the number of steps of a loop after which slots and phases repeat."""
    period = nest.slot_count // gcd(nest.slot_count, inner_iterations)
    for inner in _nests_with_continued_slots(nest):
        period = lcm(
            period,
            inner.slot_count
            // gcd(
                inner.slot_count,
                _inner_trips_per_iteration(inner, nest, inner_iterations),
            ),
        )
    for step in nest.instructions():
        for access in step.reads_and_writes:
            slices = access.buffer.slice_count
            moved = iterations_per_step * step_of_index(access.first_slice, counter)
            period = lcm(period, slices // gcd(slices, moved))
    full_period = period
    for step in nest.instructions():
        for phase in step.cost.phases:
            full_period = lcm(
                full_period,
                _steps_until_phase_repeats(phase, counter, iterations_per_step),
            )
    return full_period if full_period <= TILE_SEARCH.max_burst_period else period


def _inner_trips_per_iteration(inner: Nest, nest: Nest, inner_iterations: int) -> int:
    """Return the number of iterations of an inner nest per iteration of a loop."""
    total, each = inner_iterations, inner
    while each is not nest:
        total *= each.trip_count
        assert each.surrounding_nest is not None
        each = each.surrounding_nest
    return total


def _nests_with_continued_slots(nest: Nest) -> Iterator[Nest]:
    """
    Yield the nests inside a nest whose slots continue over its iterations: none in a
    distributed nest, in which slots start again.
    """
    if not nest.is_distributed:
        for each in nest.body:
            if isinstance(each, Nest) and not each.is_distributed:
                yield each
                yield from _nests_with_continued_slots(each)


def _steps_until_phase_repeats(
    phase: BurstPhase, counter: LoopCounter, iterations_per_step: int
) -> int:
    moved = iterations_per_step * step_of_index(phase.address, counter)
    return phase.burst_bytes // gcd(phase.burst_bytes, moved)


def _run_periodic_iterations(
    runner: IterationRunner,
    run_iteration: Callable[[int], None],
    begin: int,
    end: int,
    period: int,
) -> None:
    """Run iterations that repeat with a period, most of them by extrapolation."""
    done, last, patience = begin, tuple[int, ...](), 0
    before = runner.save_state() if end - begin > 3 * period else []
    while before and end - done >= 2 * period:
        for index in range(done, done + period):
            run_iteration(index)
        done += period
        after = runner.save_state()
        change = entrywise_change_between(before, after)
        before = after
        patience -= 1
        is_steady = change == last and len(change) > 0
        if is_steady and patience <= 0 and (end - done) // period >= 2:
            skipped = (end - done) // period - 1
            if _try_skipping_periods(
                runner, run_iteration, after, change, done, skipped, period
            ):
                done += (skipped + 1) * period
                break
            patience = 8
        last = change
    for index in range(done, end):
        run_iteration(index)


def _try_skipping_periods(
    runner: IterationRunner,
    run_iteration: Callable[[int], None],
    state: list[int],
    change_per_period: tuple[int, ...],
    next_iteration: int,
    period_count: int,
    period: int,
) -> bool:
    """
    Skip `period_count` periods and run one more. Return `True` if it takes the same
    time; otherwise restore the state.
    """
    extrapolated = extrapolate_entries(state, change_per_period, period_count)
    runner.restore_state(extrapolated)
    start = next_iteration + period_count * period
    for index in range(start, start + period):
        run_iteration(index)
    if entrywise_change_between(extrapolated, runner.save_state()) == change_per_period:
        return True
    runner.restore_state(state)
    return False
