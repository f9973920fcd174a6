"""Cost model interface of the partitioner: the options to run a group in a context."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """
    State of the retained memory (L2) around a group. The first three are sets of
    values, of the group's inputs and outputs alone.
    """

    resident: int
    """The inputs that are there already: they are not loaded."""
    retained: int
    """The inputs and outputs that stay there for a later group."""
    stored: int
    """The outputs that are also, or only, written to the outermost memory (L3)."""
    occupied: int
    """Bytes that values which the group neither reads nor writes keep taken."""

    @property
    def sets(self) -> tuple[int, int, int]:
        """Sets of the values that are resident, are kept and are stored."""
        return self.resident, self.retained, self.stored


@dataclass(frozen=True)
class Option:
    """One way to run a group."""

    time: int
    """Cycles, without those of early moves."""
    bytes: int
    """Traffic of the outermost memory, what only fills bursts counted in."""
    footprint: int
    """
    Bytes of the retained memory that the group needs, inputs that are there and values
    that stay counted in.
    """
    plan: object = None
    """
    Plan by which the caller carries it out. It may be that of another group of the same
    structure, so it names values and operations by their positions in the group.
    """
    prefetch_cycles: int = 0
    """Cycles of moves that may be over before it starts."""
    idle_cycles: int = 0
    """Cycles in which the channel can do early moves of later groups meanwhile."""
    prefetch_capacity: int = 0
    """The cycles of such moves that the retained memory has room for at most."""
    padding: int = 0
    """The bytes of the traffic that only fill bursts."""

    @property
    def payload(self) -> int:
        """The bytes of the traffic that are of use."""
        return self.bytes - self.padding


class CostModel(ABC):
    """
    A cost model. It is asked about groups as sets of operations, and must answer the
    same when asked again. Groups of the same structure, that is with equal labels of
    operations and values and equal bytes, wired up in the same way, cost the same.
    """

    monotone: bool = True
    """True if an objection to a group is one to every group that contains it."""

    @abstractmethod
    def options(self, group: int, context: Context) -> Sequence[Option]:
        """
        The ways to run a group that fit into what is not taken of the memory, without
        those that another one beats in everything; none if it cannot run.

        How much is taken says which ways fit, and nothing else about them: options that
        fit into less are not asked for again.
        """

    def bound(self, group: int, context: Context) -> Option | None:
        """
        Return a lower bound on the time and bytes of all options of a group; `None` if
        it is not known for less than the options are. It holds whatever is taken, and
        has no plan. Options are only asked for where a group may be the best by its
        bound.
        """
        del group, context
        return None

    def is_runnable(self, group: int) -> bool:
        """
        Return `True` if a group has options, whatever is in memory around it; other
        groups are not asked for options. Called once for groups of the same structure.
        """
        del group
        return True

    def objection(self, group: int) -> str | None:
        """
        Return why a group is infeasible in any context; `None` if it is not. Called for
        many more groups than `options` is, so it must be cheap.
        """
        del group
        return None
