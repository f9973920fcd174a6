"""Schedules of groups, and the result of a search."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.support.partition.cost_model import Context, Option
from tlf.support.partition.hidden_transfers import total_time


@dataclass(frozen=True)
class Step:
    """A group that runs, what is in the retained memory around it, and how it runs."""

    group: int
    context: Context
    option: Option


@dataclass(frozen=True)
class Schedule:
    """
    Groups in the order in which they run. `time` is that of the options, with the
    early moves that are waited for, and `bytes` the sum of theirs.
    """

    steps: tuple[Step, ...]
    time: int
    bytes: int

    @staticmethod
    def of(steps: Sequence[Step]) -> "Schedule":
        """These steps, one after the other."""
        options = [step.option for step in steps]
        moved = sum(option.bytes for option in options)
        return Schedule(tuple(steps), total_time(options), moved)

    @property
    def payload(self) -> int:
        """Those of the bytes that do not only fill bursts."""
        return sum(step.option.payload for step in self.steps)

    @property
    def groups(self) -> tuple[int, ...]:
        """The sets of operations that run together, in order."""
        return tuple(step.group for step in self.steps)


@dataclass(frozen=True)
class Alternative:
    """
    Alternative to a step of a schedule. `time` and `payload` are those of the best
    schedule that takes it, and is the same up to there.
    """

    step: Step
    time: int
    payload: int


@dataclass(frozen=True)
class Statistics:
    """Statistics of the search that found a schedule."""

    strategy: str
    """Strategy that found it: not the requested one, where that gave up."""
    exact: bool
    """True if it is proven that no schedule is better, by the cost model."""
    reason: str
    """Reason why it is not exact; empty if it is."""
    width: int
    """Beam width: number of states of a size that were kept; 0 if all."""
    downsets: int
    """Sets of operations done that were gone on from."""
    states: int
    """Pairs of such a set and of what was retained, in all downsets reached."""
    candidates: int
    """Pairs of such a set and of a group to run next."""
    queries: int
    """Number of queries of the cost model for options."""
    cache_hits: int
    """
    Number of queries whose answer was known, as from a group of the same structure.
    """


@dataclass(frozen=True)
class Result:
    """
    The best schedule found, and `front`, the schedules found that none beats in both
    time and bytes: all there are if the search is exact and its limit of the front was
    not reached, the best one first.
    """

    schedule: Schedule
    front: tuple[Schedule, ...]
    statistics: Statistics
    alternatives: tuple[tuple[Alternative, ...], ...] = ()
    """For each step of the schedule the best other choices, if they were asked for."""
    ways: tuple[Schedule, ...] = ()
    """The best schedules, this one first, as many as `Limits.ways` asked for."""


@dataclass
class NoScheduleError(Exception):
    """A strategy found no sequence of groups that runs all operations."""

    operation: int
    """One that could not run."""
    strategy: str
    """Strategy that was used: `dp` has tried all groups that are not too large."""

    def __str__(self) -> str:
        if self.strategy == "dp":
            return f"operation {self.operation} can run neither alone nor with others"
        return f"`{self.strategy}` found no way to run operation {self.operation}"
