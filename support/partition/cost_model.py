"""
Cost model interface of the partition solver, without IR: the options to run a group in
a context.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ResidencyContext:
    """
    State of the inner level (L2) around a group. `resident`, `retained` and `stored`
    are sets of the group's inputs and outputs.
    """

    resident: int
    """Inputs that are in the inner level already and are not loaded."""
    retained: int
    """Inputs and outputs that stay in the inner level for a later group."""
    stored: int
    """Outputs that are written to the outermost level (L3), retained or not."""
    occupied_bytes: int
    """Bytes of resident values that the group neither reads nor writes."""

    @property
    def residency_sets(self) -> tuple[int, int, int]:
        """Sets of the values that are resident, retained and stored."""
        return self.resident, self.retained, self.stored


@dataclass(frozen=True)
class Option:
    """Candidate plan for one group, with its cycles, traffic and footprint."""

    time: int
    """Cycles, without those of prefetched transfers."""
    bytes: int
    """Traffic of the outermost level in bytes, including padding to whole bursts."""
    footprint: int
    """
    Bytes of the inner level that the group needs, including its resident inputs and
    retained values.
    """
    plan: object = None
    """
    Plan for the caller. It may be that of another group of the same structure, so it
    refers to values and operations by their positions in the group.
    """
    prefetch_cycles: int = 0
    """Channel cycles of transfers that may complete before the group starts."""
    idle_cycles: int = 0
    """Idle channel cycles, in which later groups can prefetch."""
    prefetch_capacity: int = 0
    """Maximum of such cycles for which the inner level has room."""
    padding: int = 0
    """Bytes of the traffic that pad transfers to whole bursts."""

    @property
    def payload(self) -> int:
        """Bytes of the traffic without padding."""
        return self.bytes - self.padding


class CostModel(ABC):
    """
    Cost model of groups, which are sets of operations. It must be deterministic. Groups
    of the same structure have the same costs: equal labels of operations and values,
    equal sizes, and equal connections.
    """

    monotone: bool = True
    """True if an objection to a group applies to every group that contains it."""

    @abstractmethod
    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        """
        Return the options of a group that fit into the free bytes of the inner level,
        without dominated ones; none if the group cannot run.

        The number of occupied bytes determines which options fit, and nothing else
        about them: options that fit into fewer free bytes are not queried again.
        """

    def bound_of_options(self, group: int, context: ResidencyContext) -> Option | None:
        """
        Return a lower bound on the time and bytes of all options of a group, or None if
        computing it is not cheaper than the options. It is valid for any number of
        occupied bytes, and has no plan. Options are only queried if a group may be the
        best by its bound.
        """
        del group, context
        return None

    def is_runnable(self, group: int) -> bool:
        """
        Return `True` if a group may have options in some context; other groups are not
        queried for options. Called once for groups of the same structure.
        """
        del group
        return True

    def report_progress(self, fraction: float) -> None:
        """
        Receive the fraction of the distinct operations that a search over all states
        will have passed at the next report. May raise an exception to end the search,
        as may the queries until then.
        """
        del fraction

    def objection_to_group(self, group: int) -> str | None:
        """
        Return the reason why a group is infeasible in any context, or None if it is
        feasible. Called for many more groups than `options` is, so it must be cheap.
        """
        del group
        return None
