"""
Skip the steady state of a repeated body: detect its period and extrapolate.

Between the state `x` of a machine before a body of instructions and the state `f(x)`
after it, every time is the greatest of some entries of `x` plus constants: `f` is
convex, and so is the time of every event in the body. Let states one period apart
differ by `d`, twice in a row:

    f(x - d) = x,  f(x) = x + d

Convexity gives `f(x + s d) >= x + (s + 1) d` for all `s >= 0`. If equality holds for
`s = n`, it gives `f(x + s d) <= x + (s + 1) d` for all `s` up to `n`. So the `n - 1`
periods in between need not be done: they add `d` each. No entry is left out of the
state, and those that grow at different rates may do so.

The same holds for the sum of the times of all events of the body (`moments`): it is a
sum of convex functions, and linear where it is at `s = -1, 0, n`, only if each of them
is. So the waiting times in between, differences of such times, change linearly too; and
as their totals by cause are the same for `s = -1` and `s = 0`, those do not change.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlf.machine.event_model import EventModel

_MAX_PERIOD = 16
"""Repetitions in a period that is looked for, at most."""


@dataclass(frozen=True, slots=True)
class _State:
    """Snapshot of a model's state at one moment."""

    times: tuple[int, ...]
    """Control processor, engines, channels, signals."""
    causes: tuple[tuple[int, ...], ...]
    """By semaphore, the engines of the signals."""
    stalls: tuple[int, ...]
    event_time_sum: int
    total: int
    """The sum of all times, to tell apart quickly."""

    @staticmethod
    def capture(model: EventModel) -> "_State":
        signals = [time for queue in model.semaphores for time, _ in queue]
        times = (model.time, *model.free, *model.done, *model.channels, *signals)
        return _State(
            times,
            tuple([tuple([cause for _, cause in queue]) for queue in model.semaphores]),
            tuple([cycles for row in model.stalls for cycles in row]),
            model.event_time_sum,
            sum(times),
        )

    def restore_to(self, model: EventModel) -> None:
        """Make this the state of the model."""
        times = iter(self.times)
        model.time = next(times)
        for group in (model.free, model.done, model.channels):
            group[:] = [next(times) for _ in group]
        for queue, causes in zip(model.semaphores, self.causes, strict=True):
            queue.clear()
            queue.extend([(next(times), cause) for cause in causes])
        stalls = iter(self.stalls)
        for row in model.stalls:
            row[:] = [next(stalls) for _ in row]
        model.event_time_sum = self.event_time_sum


@dataclass(frozen=True, slots=True)
class _Change:
    """Change of the state over a period."""

    times: tuple[int, ...]
    stalls: tuple[int, ...]
    event_time_sum: int

    @staticmethod
    def between(before: _State, after: _State) -> "_Change | None":
        """The change, if the same signals are there before and after."""
        if before.causes != after.causes:
            return None
        return _Change(
            _subtract(after.times, before.times),
            _subtract(after.stalls, before.stalls),
            after.event_time_sum - before.event_time_sum,
        )

    def has_same_rates(self, other: "_Change") -> bool:
        """
        Return `True` if `other` changes everything but the moments in the same way.
        """
        return self.times == other.times and self.stalls == other.stalls

    def extrapolate(self, state: _State, count: int, growth: int) -> _State:
        """Return the state `count` periods later."""
        moments = count * self.event_time_sum + growth * (count * (count + 1) // 2)
        times = _add_scaled(state.times, self.times, count)
        return _State(
            times,
            state.causes,
            _add_scaled(state.stalls, self.stalls, count),
            state.event_time_sum + moments,
            sum(times),
        )


def _subtract(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([x - y for x, y in zip(a, b, strict=True)])


def _add_scaled(a: tuple[int, ...], b: tuple[int, ...], count: int) -> tuple[int, ...]:
    return tuple([x + count * y for x, y in zip(a, b, strict=True)])


def repeat(model: EventModel, body: Callable[[], None], count: int) -> None:
    """
    Do `body` on `model` `count` times, with the same result as if each was done.

    The body may only issue, work, signal and wait, and does the same every time.
    """
    done, seen, patience = 0, 0, 0
    states: deque[_State] = deque(maxlen=2 * _MAX_PERIOD + 1)
    while count - done > 1:
        states.append(_State.capture(model))
        seen += 1
        if seen > patience:
            skipped = _skip_periods(model, body, states, count - done)
            if skipped:
                done += skipped
                seen, patience = 0, 0
                states.clear()
                continue
            if skipped is None:
                patience = 2 * seen
        body()
        done += 1
    if done < count:
        body()


def _skip_periods(
    model: EventModel, body: Callable[[], None], states: Sequence[_State], left: int
) -> int | None:
    """
    Skip as many periods as convexity proves equal; return the iterations skipped.
    Return how many; None if there seemed to be a period, but it does not last.
    """
    for period in range(1, min((len(states) - 1) // 2, _MAX_PERIOD, left // 2) + 1):
        last, middle, first = (states[-1 - n * period] for n in range(3))
        if last.total - middle.total != middle.total - first.total:
            continue
        before = _Change.between(first, middle)
        after = _Change.between(middle, last)
        if before is None or after is None or not before.has_same_rates(after):
            continue
        periods = left // period
        while periods >= 2:
            if _try_skip(model, body, period, periods, last, before, after):
                return periods * period
            periods //= 2
        return None
    return 0


def _try_skip(
    model: EventModel,
    body: Callable[[], None],
    period: int,
    periods: int,
    state: _State,
    before: _Change,
    after: _Change,
) -> bool:
    """
    Skip all but the last of so many periods, do that one, and see whether it is like
    those `before`; else go back.
    """
    growth = after.event_time_sum - before.event_time_sum
    far = after.extrapolate(state, periods - 1, growth)
    far.restore_to(model)
    for _ in range(period):
        body()
    change = _Change.between(far, _State.capture(model))
    if (
        change is not None
        and change.has_same_rates(after)
        and change.event_time_sum == after.event_time_sum + growth * periods
    ):
        return True
    state.restore_to(model)
    return False
