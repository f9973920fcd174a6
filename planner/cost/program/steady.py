"""
Loops of a schedule whose iterations cost the same, at the price of a few.

Iterations are alike where no move reaches out of what it moves from and to, and repeat
with the period of slots, rings and bursts. Periods that take the same time at both ends
take it in between, as `tlf.machine.repeat` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd, lcm, prod
from typing import Protocol

from tlf.planner.cost.program.program import (
    Nest,
    Phase,
    Reach,
    Step,
    Variable,
    nests_of,
)

LONGEST = 256
"""Of periods longer than this, that of the bursts is left out."""


class Runner(Protocol):
    """Executor of the iterations of nests."""

    values: dict[Variable, int]

    def iteration(self, nest: Nest, first: int, number: int) -> None:
        """One iteration."""
        ...

    def state(self) -> list[int]:
        """All that changes."""
        ...

    def restore(self, state: Sequence[int]) -> None:
        """Set all that changes."""
        ...


@dataclass(frozen=True)
class Axis:
    """One loop of a nest: what moves with it, and its period."""

    variable: Variable
    reaches: tuple[tuple[Reach, int], ...]
    """With the iterations that each is ahead."""
    period: int
    block: int
    """The iterations of the loops inside of the nest for each of its own."""


@dataclass
class Sweep:
    """Runs the iterations of a nest."""

    nest: Nest
    axes: list[Axis] = field(init=False)

    def __post_init__(self) -> None:
        nest = self.nest
        self._inside = {
            variable for each in nests_of(nest.body) for variable in each.variables
        }
        early = (each.ahead for each in nest.body if isinstance(each, Step))
        self._ahead = max(early, default=0)
        self.axes = []
        for depth, variable in enumerate(nest.variables):
            block = prod(each.trips for each in nest.variables[depth + 1 :])
            reaches = dict.fromkeys(_reaches(nest, variable))
            period = _period(nest, variable, block)
            self.axes.append(Axis(variable, tuple(reaches), period, block))

    def run(self, runner: Runner, first: int) -> None:
        """Run all iterations; `first` is the slot of the first one."""
        self._axis(runner, first, 0, 0)

    def _axis(self, runner: Runner, first: int, depth: int, start: int) -> None:
        """Run the loops from one on, whose first iteration has number `start`."""
        if depth == len(self.axes):
            runner.iteration(self.nest, first, start)
            return
        axis = self.axes[depth]

        def body(number: int) -> None:
            variable = axis.variable
            runner.values[variable] = variable.lower + variable.step * number
            self._axis(runner, first, depth + 1, start + number * axis.block)

        begin, end = self._regular(runner, axis, depth)
        for number in range(begin):
            body(number)
        _steady(runner, body, begin, end, axis.period)
        for number in range(end, axis.variable.trips):
            body(number)

    def _regular(self, runner: Runner, axis: Axis, depth: int) -> tuple[int, int]:
        """The iterations in which nothing that moves with a loop reaches out."""
        variable = axis.variable
        free = self._inside | set(self.nest.variables[depth + 1 :])
        begin, end = 0, variable.trips - self._shift(axis, self._ahead)
        for reach, ahead in axis.reaches:
            factor, least, most = _extremes(reach, variable, free, runner.values)
            low, high = -least, reach.bound - reach.size - most
            first = -(-low // factor) if factor > 0 else -(-high // factor)
            last = high // factor if factor > 0 else low // factor
            begin = max(begin, first)
            end = min(end, last + 1 - self._shift(axis, ahead))
        return (begin, end) if begin < end else (variable.trips, variable.trips)

    @staticmethod
    def _shift(axis: Axis, ahead: int) -> int:
        """By how many iterations of a loop moves are early."""
        return ahead if axis.block == 1 else min(ahead, 1)


def _extremes(
    reach: Reach, variable: Variable, free: set[Variable], values: dict[Variable, int]
) -> tuple[int, int, int]:
    """
    Return the step of an offset in each iteration of a loop, and its least and its
    greatest value over the loops inside in iteration 0.
    """
    factor, least, most = 0, reach.offset.constant, reach.offset.constant
    for symbol, times in reach.offset.terms:
        assert isinstance(symbol, Variable)
        if symbol is variable:
            factor = times * variable.step
            least += times * variable.lower
            most += times * variable.lower
        elif symbol in free:
            ends = (times * symbol.lower, times * symbol.last)
            least += min(ends)
            most += max(ends)
        else:
            least += times * values[symbol]
            most += times * values[symbol]
    return factor, least, most


def _reaches(nest: Nest, variable: Variable) -> Iterator[tuple[Reach, int]]:
    for step in nest.steps():
        ahead = step.ahead if step in nest.body else 0
        for reach in step.price.reaches:
            if any(symbol is variable for symbol, _ in reach.offset.terms):
                yield reach, ahead


def _period(nest: Nest, variable: Variable, block: int) -> int:
    """After how many iterations of a loop everything is in the same slot and phase."""
    period = nest.slots // gcd(nest.slots, block)
    for inner in nests_of(nest.body):
        period = lcm(period, inner.slots // gcd(inner.slots, _runs(inner, nest, block)))
    for step in nest.steps():
        for access in step.touched:
            slices = access.buffer.slices
            moved = _moved(access.start.terms, variable)
            period = lcm(period, slices // gcd(slices, moved))
    whole = period
    for step in nest.steps():
        for phase in step.price.phases:
            whole = lcm(whole, _phase_period(phase, variable))
    return whole if whole <= LONGEST else period


def _runs(inner: Nest, nest: Nest, block: int) -> int:
    """Return the number of iterations of an inner nest for each one of a loop."""
    total, each = block, inner
    while each is not nest:
        total *= each.trips
        assert each.around is not None
        each = each.around
    return total


def _phase_period(phase: Phase, variable: Variable) -> int:
    return phase.burst // gcd(phase.burst, _moved(phase.place.terms, variable))


def _moved(terms: Sequence[tuple[object, int]], variable: Variable) -> int:
    """Return the step of an index in an iteration of a loop."""
    return sum(times * variable.step for symbol, times in terms if symbol is variable)


def _steady(
    runner: Runner, body: Callable[[int], None], begin: int, end: int, period: int
) -> None:
    """Run iterations that repeat with a period, most of them by adding them up."""
    done, last, patience = begin, list[int](), 0
    before = runner.state() if end - begin > 3 * period else []
    while before and end - done >= 2 * period:
        for number in range(done, done + period):
            body(number)
        done += period
        after = runner.state()
        change = _minus(after, before)
        before = after
        patience -= 1
        is_steady = change == last and len(change) > 0
        if is_steady and patience <= 0 and (end - done) // period >= 2:
            skipped = (end - done) // period - 1
            if _jump(runner, body, after, change, done, skipped, period):
                done += (skipped + 1) * period
                break
            patience = 8
        last = change
    for number in range(done, end):
        body(number)


def _jump(
    runner: Runner,
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
    runner.restore(far)
    start = done + skipped * period
    for number in range(start, start + period):
        body(number)
    if _minus(runner.state(), far) == change:
        return True
    runner.restore(state)
    return False


def _minus(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The difference; nothing where there are new totals."""
    if len(left) != len(right):
        return []
    return [a - b for a, b in zip(left, right, strict=True)]
