"""Schedules of groups, and the result of a search, as plain data without IR."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.support.partition.cost_model import Option, ResidencyContext
from tlf.support.partition.hidden_transfers import total_time_of_groups


@dataclass(frozen=True)
class Step:
    """Group that runs, the state of the inner level around it, and its option."""

    group: int
    context: ResidencyContext
    option: Option


@dataclass(frozen=True)
class Schedule:
    """
    Groups in execution order. `time` is the sum of their cycles, including exposed
    prefetches, and `bytes` the sum of their traffic.
    """

    steps: tuple[Step, ...]
    time: int
    bytes: int

    @staticmethod
    def of(steps: Sequence[Step]) -> "Schedule":
        """Return the schedule with these steps."""
        options = [step.option for step in steps]
        total_bytes = sum(option.bytes for option in options)
        return Schedule(tuple(steps), total_time_of_groups(options), total_bytes)

    @property
    def payload(self) -> int:
        """Bytes of the traffic without padding to whole bursts."""
        return sum(step.option.payload for step in self.steps)

    @property
    def groups(self) -> tuple[int, ...]:
        """Sets of operations of the groups, in order."""
        return tuple(step.group for step in self.steps)


@dataclass(frozen=True)
class Alternative:
    """
    Alternative to a step of a schedule. `time` and `payload` are those of the best
    schedule that takes it, with the same steps before.
    """

    step: Step
    time: int
    payload: int


@dataclass(frozen=True)
class SearchStatistics:
    """Statistics of the search that found a schedule."""

    strategy: str
    """Strategy that found it: not the requested one if that exceeded its limits."""
    exact: bool
    """True if the schedule is optimal by the cost model."""
    reason: str
    """Reason why it is not exact; empty if it is."""
    width: int
    """Beam width: number of states kept per downset size; 0 if all."""
    downsets: int
    """Number of downsets that were expanded."""
    states: int
    """Number of states: pairs of a downset and the values retained."""
    candidates: int
    """Number of pairs of a downset and a candidate group."""
    queries: int
    """Number of queries of the cost model for options."""
    cache_hits: int
    """
    Number of queries answered by the memo, for example for a group of the same
    structure.
    """


@dataclass(frozen=True)
class SearchResult:
    """
    Best schedule found, and `front`, the schedules found that are not dominated in both
    time and bytes, the best one first. The front is complete if the search is exact and
    its limit of the front was not reached.
    """

    schedule: Schedule
    front: tuple[Schedule, ...]
    statistics: SearchStatistics
    alternatives: tuple[tuple[Alternative, ...], ...] = ()
    """Best alternatives to each step of the schedule, if requested."""
    best_schedules: tuple[Schedule, ...] = ()
    """Best schedules, `schedule` first, at most `Limits.ways`."""


@dataclass
class NoScheduleError(Exception):
    """A strategy found no sequence of groups that runs all operations."""

    operation: int
    """Index of an operation that could not run."""
    strategy: str
    """Strategy that was used: `dp` has evaluated all groups that are not too large."""

    def __str__(self) -> str:
        if self.strategy == "dp":
            return (
                f"operation {self.operation} can run neither by itself nor in a group"
            )
        return (
            f"`{self.strategy}` found no schedule that runs operation {self.operation}"
        )
