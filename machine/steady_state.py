"""
Timing model: skip the steady state of a repeated body by its period, and extrapolate.

Between the state `x` of a machine before a body of instructions and the state `f(x)`
after it, every time is the maximum of entries of `x` plus constants: `f` is convex, and
so is the time of every event in the body. Let states one period apart differ by `d`,
twice in a row:

    f(x - d) = x,  f(x) = x + d

Convexity gives `f(x + s d) >= x + (s + 1) d` for all `s >= 0`. If equality holds for
`s = n`, it gives `f(x + s d) <= x + (s + 1) d` for all `s` up to `n`. So the `n - 1`
periods in between need not be executed: they add `d` each. The state contains all
entries, and entries may grow at different rates.

The same holds for the sum of the times of all events of the body (`event_time_sum`): it
is a sum of convex functions, and linear at `s = -1, 0, n` only if each of them is. So
the stall cycles in between, which are differences of such times, change linearly too;
and as their totals by cause are equal for `s = -1` and `s = 0`, they are constant.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlf.machine.event_model import EventModel

_MAX_PERIOD = 16
"""Maximum number of iterations in a detected period."""


@dataclass(frozen=True, slots=True)
class _ModelState:
    """Immutable snapshot of the state of an event model."""

    times: tuple[int, ...]
    """Times of the control processor, engines, channels and pending signals."""
    causes: tuple[tuple[int, ...], ...]
    """Signalling engines of the pending signals, by semaphore."""
    stalls: tuple[int, ...]
    event_time_sum: int
    total: int
    """Sum of all times, for a fast comparison."""

    @staticmethod
    def capture(model: EventModel) -> "_ModelState":
        """Copy times, pending signals and stall cycles of a model into a snapshot."""
        signals = [time for queue in model.semaphores for time, _ in queue]
        times = (*model.save_times(), *signals)
        return _ModelState(
            times,
            tuple([tuple([cause for _, cause in queue]) for queue in model.semaphores]),
            tuple([cycles for row in model.stalls for cycles in row]),
            model.event_time_sum,
            sum(times),
        )

    def restore_model(self, model: EventModel) -> None:
        """Overwrite the state of `model` in place with this snapshot."""
        times = iter(self.times)
        model.restore_times(times)
        for queue, causes in zip(model.semaphores, self.causes, strict=True):
            queue.clear()
            queue.extend([(next(times), cause) for cause in causes])
        stalls = iter(self.stalls)
        for row in model.stalls:
            row[:] = [next(stalls) for _ in row]
        model.event_time_sum = self.event_time_sum


@dataclass(frozen=True, slots=True)
class _StateChange:
    """Entrywise difference of two snapshots that are one period apart."""

    times: tuple[int, ...]
    stalls: tuple[int, ...]
    event_time_sum: int

    @staticmethod
    def find_between(before: _ModelState, after: _ModelState) -> "_StateChange | None":
        """Return the change, or None if the pending signals before and after differ."""
        if before.causes != after.causes:
            return None
        return _StateChange(
            entrywise_change_between(before.times, after.times),
            entrywise_change_between(before.stalls, after.stalls),
            after.event_time_sum - before.event_time_sum,
        )

    def has_same_rates(self, other: "_StateChange") -> bool:
        """Return `True` if `other` has the same changes, except of `event_time_sum`."""
        return self.times == other.times and self.stalls == other.stalls

    def extrapolate_state(
        self, state: _ModelState, count: int, growth: int
    ) -> _ModelState:
        """
        Return a snapshot `count` periods after `state`, extrapolated without
        simulation.
        """
        moments = count * self.event_time_sum + growth * (count * (count + 1) // 2)
        times = extrapolate_entries(state.times, self.times, count)
        return _ModelState(
            times,
            state.causes,
            extrapolate_entries(state.stalls, self.stalls, count),
            state.event_time_sum + moments,
            sum(times),
        )


def entrywise_change_between(
    before: Sequence[int], after: Sequence[int]
) -> tuple[int, ...]:
    """Return the change of a state; an empty tuple if entries were added."""
    if len(before) != len(after):
        return ()
    return tuple([y - x for x, y in zip(before, after, strict=True)])


def extrapolate_entries(
    state: Sequence[int], change: Sequence[int], count: int
) -> tuple[int, ...]:
    """Return a state after `count` more times the same change."""
    return tuple([x + count * y for x, y in zip(state, change, strict=True)])


def repeat_body(model: EventModel, body: Callable[[], None], count: int) -> None:
    """
    Execute `body` on `model` `count` times, skipping periods of the steady state; the
    result is that of `count` executions.

    The body may only issue, execute, signal and wait, and must do the same every time.
    """
    done, captured, patience = 0, 0, 0
    states: deque[_ModelState] = deque(maxlen=2 * _MAX_PERIOD + 1)
    while count - done > 1:
        states.append(_ModelState.capture(model))
        captured += 1
        if captured > patience:
            skipped = _skip_equal_periods(model, body, states, count - done)
            if skipped:
                done += skipped
                captured, patience = 0, 0
                states.clear()
                continue
            if skipped is None:
                patience = 2 * captured
        body()
        done += 1
    if done < count:
        body()


def _skip_equal_periods(
    model: EventModel,
    body: Callable[[], None],
    states: Sequence[_ModelState],
    remaining: int,
) -> int | None:
    """
    Skip as many periods as convexity proves equal. Return the number of iterations
    skipped: 0 if there is no period, None if a period was found but does not persist.
    """
    for period in range(
        1, min((len(states) - 1) // 2, _MAX_PERIOD, remaining // 2) + 1
    ):
        last, middle, first = (states[-1 - n * period] for n in range(3))
        if last.total - middle.total != middle.total - first.total:
            continue
        before = _StateChange.find_between(first, middle)
        after = _StateChange.find_between(middle, last)
        if before is None or after is None or not before.has_same_rates(after):
            continue
        periods = remaining // period
        while periods >= 2:
            if _try_skip_periods(model, body, period, periods, last, before, after):
                return periods * period
            periods //= 2
        return None
    return 0


def _try_skip_periods(
    model: EventModel,
    body: Callable[[], None],
    period: int,
    periods: int,
    state: _ModelState,
    before: _StateChange,
    after: _StateChange,
) -> bool:
    """
    Extrapolate over all but the last of `periods` periods, execute the last one, and
    return `True` if it changes the state as predicted from `before` and `after`; else
    restore the state.
    """
    growth = after.event_time_sum - before.event_time_sum
    skipped = after.extrapolate_state(state, periods - 1, growth)
    skipped.restore_model(model)
    for _ in range(period):
        body()
    change = _StateChange.find_between(skipped, _ModelState.capture(model))
    if (
        change is not None
        and change.has_same_rates(after)
        and change.event_time_sum == after.event_time_sum + growth * periods
    ):
        return True
    state.restore_model(model)
    return False
