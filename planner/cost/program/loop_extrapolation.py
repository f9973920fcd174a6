"""
Steady state of loops in the cost model: a few iterations are executed, the others
extrapolated.

Iterations are equivalent if no move exceeds the bounds of its source and destination,
and repeat with the period of slots, rings and bursts. If periods at both ends take the
same time, so do those in between, as `tlf.machine.steady_state` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd, lcm, prod
from typing import Protocol

from tlf.machine.steady_state import change_between, extrapolate
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
    """Executor of the iterations of nests."""

    values: dict[LoopCounter, int]

    def run_iteration(self, nest: Nest, first: int, number: int) -> None:
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

    variable: LoopCounter
    axis_ranges: tuple[tuple[AxisRange, int], ...]
    """Axis ranges with their prefetch distances."""
    period: int
    block: int
    """Iterations of the inner loops of the nest per iteration of this loop."""


@dataclass
class NestSweep:
    """Execution of the iterations of a nest."""

    nest: Nest
    axes: list[SweepAxis] = field(init=False)

    def __post_init__(self) -> None:
        nest = self.nest
        self._inside = {
            variable for each in nests_in(nest.body) for variable in each.variables
        }
        early = (each.ahead for each in nest.body if isinstance(each, Instruction))
        self._ahead = max(early, default=0)
        self.axes = []
        for depth, variable in enumerate(nest.variables):
            block = prod(each.trips for each in nest.variables[depth + 1 :])
            ranges = dict.fromkeys(_variant_ranges(nest, variable))
            period = _steady_period(nest, variable, block)
            self.axes.append(SweepAxis(variable, tuple(ranges), period, block))

    def run_nest(self, runner: IterationRunner, first: int) -> None:
        """Run all iterations; `first` is the slot of the first one."""
        self._run_axis(runner, first, 0, 0)

    def _run_axis(
        self, runner: IterationRunner, first: int, depth: int, start: int
    ) -> None:
        """
        Run the loops from `depth` on; the index of their first iteration is `start`.
        """
        if depth == len(self.axes):
            runner.run_iteration(self.nest, first, start)
            return
        axis = self.axes[depth]

        def run_range(index: int) -> None:
            variable = axis.variable
            runner.values[variable] = variable.lower + variable.step * index
            self._run_axis(runner, first, depth + 1, start + index * axis.block)

        begin, end = self._regular_iterations(runner, axis, depth)
        for index in range(begin):
            run_range(index)
        _run_periodic(runner, run_range, begin, end, axis.period)
        for index in range(end, axis.variable.trips):
            run_range(index)

    def _regular_iterations(
        self, runner: IterationRunner, axis: SweepAxis, depth: int
    ) -> tuple[int, int]:
        """
        Return the range of iterations in which all axis ranges of a loop are in bounds.
        """
        variable = axis.variable
        free = self._inside | set(self.nest.variables[depth + 1 :])
        begin, end = 0, variable.trips - self._prefetch_distance(axis, self._ahead)
        for axis_range, ahead in axis.axis_ranges:
            factor, least, most = _offset_range(
                axis_range, variable, free, runner.values
            )
            low, high = -least, axis_range.bound - axis_range.size - most
            first = -(-low // factor) if factor > 0 else -(-high // factor)
            last = high // factor if factor > 0 else low // factor
            begin = max(begin, first)
            end = min(end, last + 1 - self._prefetch_distance(axis, ahead))
        return (begin, end) if begin < end else (variable.trips, variable.trips)

    @staticmethod
    def _prefetch_distance(axis: SweepAxis, ahead: int) -> int:
        """Return the prefetch distance of moves in iterations of a loop."""
        return ahead if axis.block == 1 else min(ahead, 1)


def _offset_range(
    reach: AxisRange,
    variable: LoopCounter,
    free: set[LoopCounter],
    values: dict[LoopCounter, int],
) -> tuple[int, int, int]:
    """
    Return the step of an offset per iteration of a loop, and its minimum and maximum
    over the inner loops in iteration 0.
    """
    ranges = dict[Hashable, tuple[int, int]]()
    for symbol, _ in reach.offset.terms:
        assert isinstance(symbol, LoopCounter)
        first = symbol.lower if symbol is variable or symbol in free else values[symbol]
        ranges[symbol] = (first, symbol.last_value if symbol in free else first)
    return step_of_index(reach.offset, variable), *reach.offset.bounds(ranges)


def _variant_ranges(
    nest: Nest, variable: LoopCounter
) -> Iterator[tuple[AxisRange, int]]:
    for step in nest.instructions():
        ahead = step.ahead if step in nest.body else 0
        for axis_range in step.cost.axis_ranges:
            if any(symbol is variable for symbol, _ in axis_range.offset.terms):
                yield axis_range, ahead


def _steady_period(nest: Nest, variable: LoopCounter, block: int) -> int:
    """Return the number of iterations of a loop after which slots and phases repeat."""
    period = nest.slots // gcd(nest.slots, block)
    for inner in nests_in(nest.body):
        period = lcm(
            period, inner.slots // gcd(inner.slots, _inner_runs(inner, nest, block))
        )
    for step in nest.instructions():
        for access in step.reads_and_writes:
            slices = access.buffer.slices
            moved = step_of_index(access.start, variable)
            period = lcm(period, slices // gcd(slices, moved))
    full_period = period
    for step in nest.instructions():
        for phase in step.cost.phases:
            full_period = lcm(full_period, _phase_period(phase, variable))
    return full_period if full_period <= TILE_SEARCH.max_burst_period else period


def _inner_runs(inner: Nest, nest: Nest, block: int) -> int:
    """Return the number of iterations of an inner nest per iteration of a loop."""
    total, each = block, inner
    while each is not nest:
        total *= each.trips
        assert each.around is not None
        each = each.around
    return total


def _phase_period(phase: BurstPhase, variable: LoopCounter) -> int:
    return phase.burst // gcd(phase.burst, step_of_index(phase.place, variable))


def _run_periodic(
    runner: IterationRunner,
    body: Callable[[int], None],
    begin: int,
    end: int,
    period: int,
) -> None:
    """Run iterations that repeat with a period, most of them by extrapolation."""
    done, last, patience = begin, tuple[int, ...](), 0
    before = runner.save_state() if end - begin > 3 * period else []
    while before and end - done >= 2 * period:
        for index in range(done, done + period):
            body(index)
        done += period
        after = runner.save_state()
        change = change_between(before, after)
        before = after
        patience -= 1
        is_steady = change == last and len(change) > 0
        if is_steady and patience <= 0 and (end - done) // period >= 2:
            skipped = (end - done) // period - 1
            if _skip_periods(runner, body, after, change, done, skipped, period):
                done += (skipped + 1) * period
                break
            patience = 8
        last = change
    for index in range(done, end):
        body(index)


def _skip_periods(
    runner: IterationRunner,
    body: Callable[[int], None],
    state: list[int],
    change: tuple[int, ...],
    done: int,
    skipped: int,
    period: int,
) -> bool:
    """
    Skip `skipped` periods and run one more. Return `True` if it takes the same time;
    otherwise restore the state.
    """
    extrapolated = extrapolate(state, change, skipped)
    runner.restore_state(extrapolated)
    start = done + skipped * period
    for index in range(start, start + period):
        body(index)
    if change_between(extrapolated, runner.save_state()) == change:
        return True
    runner.restore_state(state)
    return False
