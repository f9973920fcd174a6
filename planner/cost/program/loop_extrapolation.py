"""
Steady state of loops: run a few iterations and extrapolate the others.

Iterations are alike where no move reaches out of what it moves from and to, and repeat
with the period of slots, rings and bursts. Periods that take the same time at both ends
take it in between, as `tlf.machine.steady_state` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd, lcm, prod
from typing import Protocol

from tlf.planner.cost.program.instruction_nests import (
    AxisRange,
    BurstPhase,
    Instruction,
    LoopCounter,
    Nest,
    nests_in,
)

LONGEST = 256
"""Of periods longer than this, that of the bursts is left out."""


class IterationRunner(Protocol):
    """Executor of the iterations of nests."""

    values: dict[LoopCounter, int]

    def run_iteration(self, nest: Nest, first: int, number: int) -> None:
        """One iteration."""
        ...

    def save_state(self) -> list[int]:
        """All that changes."""
        ...

    def restore_state(self, state: Sequence[int]) -> None:
        """Set all that changes."""
        ...


@dataclass(frozen=True)
class SweepAxis:
    """One loop of a nest: what moves with it, and its period."""

    variable: LoopCounter
    axis_ranges: tuple[tuple[AxisRange, int], ...]
    """With the iterations that each is ahead."""
    period: int
    block: int
    """The iterations of the loops inside of the nest for each of its own."""


@dataclass
class NestSweep:
    """Runs the iterations of a nest."""

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
            reaches = dict.fromkeys(_variant_ranges(nest, variable))
            period = _steady_period(nest, variable, block)
            self.axes.append(SweepAxis(variable, tuple(reaches), period, block))

    def run_nest(self, runner: IterationRunner, first: int) -> None:
        """Run all iterations; `first` is the slot of the first one."""
        self._run_axis(runner, first, 0, 0)

    def _run_axis(
        self, runner: IterationRunner, first: int, depth: int, start: int
    ) -> None:
        """Run the loops from one on, whose first iteration has number `start`."""
        if depth == len(self.axes):
            runner.run_iteration(self.nest, first, start)
            return
        axis = self.axes[depth]

        def run_range(number: int) -> None:
            variable = axis.variable
            runner.values[variable] = variable.lower + variable.step * number
            self._run_axis(runner, first, depth + 1, start + number * axis.block)

        begin, end = self._regular_iterations(runner, axis, depth)
        for number in range(begin):
            run_range(number)
        _run_periodic(runner, run_range, begin, end, axis.period)
        for number in range(end, axis.variable.trips):
            run_range(number)

    def _regular_iterations(
        self, runner: IterationRunner, axis: SweepAxis, depth: int
    ) -> tuple[int, int]:
        """The iterations in which nothing that moves with a loop reaches out."""
        variable = axis.variable
        free = self._inside | set(self.nest.variables[depth + 1 :])
        begin, end = 0, variable.trips - self._prefetch_distance(axis, self._ahead)
        for reach, ahead in axis.axis_ranges:
            factor, least, most = _offset_range(reach, variable, free, runner.values)
            low, high = -least, reach.bound - reach.size - most
            first = -(-low // factor) if factor > 0 else -(-high // factor)
            last = high // factor if factor > 0 else low // factor
            begin = max(begin, first)
            end = min(end, last + 1 - self._prefetch_distance(axis, ahead))
        return (begin, end) if begin < end else (variable.trips, variable.trips)

    @staticmethod
    def _prefetch_distance(axis: SweepAxis, ahead: int) -> int:
        """By how many iterations of a loop moves are early."""
        return ahead if axis.block == 1 else min(ahead, 1)


def _offset_range(
    reach: AxisRange,
    variable: LoopCounter,
    free: set[LoopCounter],
    values: dict[LoopCounter, int],
) -> tuple[int, int, int]:
    """
    Return the step of an offset in each iteration of a loop, and its least and its
    greatest value over the loops inside in iteration 0.
    """
    factor, least, most = 0, reach.offset.constant, reach.offset.constant
    for symbol, times in reach.offset.terms:
        assert isinstance(symbol, LoopCounter)
        if symbol is variable:
            factor = times * variable.step
            least += times * variable.lower
            most += times * variable.lower
        elif symbol in free:
            ends = (times * symbol.lower, times * symbol.last_value)
            least += min(ends)
            most += max(ends)
        else:
            least += times * values[symbol]
            most += times * values[symbol]
    return factor, least, most


def _variant_ranges(
    nest: Nest, variable: LoopCounter
) -> Iterator[tuple[AxisRange, int]]:
    for step in nest.instructions():
        ahead = step.ahead if step in nest.body else 0
        for reach in step.cost.axis_ranges:
            if any(symbol is variable for symbol, _ in reach.offset.terms):
                yield reach, ahead


def _steady_period(nest: Nest, variable: LoopCounter, block: int) -> int:
    """After how many iterations of a loop everything is in the same slot and phase."""
    period = nest.slots // gcd(nest.slots, block)
    for inner in nests_in(nest.body):
        period = lcm(
            period, inner.slots // gcd(inner.slots, _inner_runs(inner, nest, block))
        )
    for step in nest.instructions():
        for access in step.reads_and_writes:
            slices = access.buffer.slices
            moved = _index_step(access.start.terms, variable)
            period = lcm(period, slices // gcd(slices, moved))
    whole = period
    for step in nest.instructions():
        for phase in step.cost.phases:
            whole = lcm(whole, _phase_period(phase, variable))
    return whole if whole <= LONGEST else period


def _inner_runs(inner: Nest, nest: Nest, block: int) -> int:
    """Return the number of iterations of an inner nest for each one of a loop."""
    total, each = block, inner
    while each is not nest:
        total *= each.trips
        assert each.around is not None
        each = each.around
    return total


def _phase_period(phase: BurstPhase, variable: LoopCounter) -> int:
    return phase.burst // gcd(phase.burst, _index_step(phase.place.terms, variable))


def _index_step(terms: Sequence[tuple[object, int]], variable: LoopCounter) -> int:
    """Return the step of an index in an iteration of a loop."""
    return sum(times * variable.step for symbol, times in terms if symbol is variable)


def _run_periodic(
    runner: IterationRunner,
    body: Callable[[int], None],
    begin: int,
    end: int,
    period: int,
) -> None:
    """Run iterations that repeat with a period, most of them by adding them up."""
    done, last, patience = begin, list[int](), 0
    before = runner.save_state() if end - begin > 3 * period else []
    while before and end - done >= 2 * period:
        for number in range(done, done + period):
            body(number)
        done += period
        after = runner.save_state()
        change = _difference(after, before)
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
    for number in range(done, end):
        body(number)


def _skip_periods(
    runner: IterationRunner,
    body: Callable[[int], None],
    state: list[int],
    change: list[int],
    done: int,
    skipped: int,
    period: int,
) -> bool:
    """
    Skip so many periods, do one more, and see whether it takes as long; else go back.
    """
    if len(change) != len(state):
        return False
    far = [at + each * skipped for at, each in zip(state, change, strict=True)]
    runner.restore_state(far)
    start = done + skipped * period
    for number in range(start, start + period):
        body(number)
    if _difference(runner.save_state(), far) == change:
        return True
    runner.restore_state(state)
    return False


def _difference(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the difference of two states; `None` if totals were added."""
    if len(left) != len(right):
        return []
    return [a - b for a, b in zip(left, right, strict=True)]
