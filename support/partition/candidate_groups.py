"""Candidate groups that may extend a downset."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.partition.bit_sets import members
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.search_limits import Limits


@dataclass(frozen=True)
class Demand:
    """
    Requirement on a schedule: operations that must be in one group, if any are given.
    """

    together: int = 0

    def allows(self, group: int) -> bool:
        """Return `True` if a group has all of the operations or none."""
        return group & self.together in (0, self.together)


@dataclass
class CandidateGroups(ABC):
    """Finds the groups that may run once some operations are done."""

    memo: CostMemo
    limits: Limits
    demand: Demand = field(default_factory=Demand)
    too_large: bool = False
    """True if groups were left out for the number of their operations."""
    too_many: bool = False
    """True if groups were left out for the number of groups."""

    @abstractmethod
    def groups_after(self, done: int) -> Sequence[int]:
        """The groups, given the downset of what is done."""


@dataclass
class ConnectedGroups(CandidateGroups):
    """
    All connected groups that what is done can be extended by.

    With what is done, such a group is closed under predecessors; as what is done is,
    too, no path leaves the group and comes back. Each grows from one operation whose
    predecessors are done: as the group is connected, some operation outside of a part
    of it that is closed reads from the part (or reads the same value), and is added
    with all that it waits for. Parts on the way are groups themselves, so an objection
    against one holds for what it grows to.
    """

    def groups_after(self, done: int) -> Sequence[int]:
        following = self.memo.groups.problem.successors_or_siblings
        pending = deque((1 << n, following[n]) for n in self._ready_operations(done))
        seen = {group for group, _ in pending}
        found: list[int] = []
        while pending:
            group, reached = pending.popleft()
            objection = self.memo.objection(group)
            if objection is not None and self.memo.costs.monotone:
                continue
            if group.bit_count() > self.limits.group:
                self.too_large |= objection is None
                continue
            if objection is None and self.demand.allows(group):
                found.append(group)
            for larger in self._expand_group(done, group, reached):
                if larger[0] not in seen:
                    seen.add(larger[0])
                    pending.append(larger)
            if len(seen) > self.limits.candidates:
                self.too_many = True
                break
        return found

    def _ready_operations(self, done: int) -> Iterator[int]:
        """The operations that wait for nothing but what is done."""
        problem = self.memo.groups.problem
        for number in members(problem.all_operations & ~done):
            if not problem.predecessors[number] & ~done:
                yield number

    def _expand_group(
        self, done: int, group: int, reached: int
    ) -> Iterator[tuple[int, int]]:
        """A group with one more operation each, and with what that waits for."""
        problem = self.memo.groups.problem
        outside = ~(done | group)
        for number in members(reached & outside):
            more = (1 << number) | (problem.ancestors[number] & outside)
            reach = reached
            for added in members(more):
                reach |= problem.successors_or_siblings[added]
            yield group | more, reach


@dataclass
class ContiguousGroups(CandidateGroups):
    """
    The connected groups of operations that follow each other in the order of the
    numbers: those of dynamic programming over intervals of one order, as compilers do
    it for chains.
    """

    def groups_after(self, done: int) -> Sequence[int]:
        problem = self.memo.groups.problem
        found: list[int] = []
        group = 0
        for number in range(done.bit_count(), len(problem.nodes)):
            group |= 1 << number
            if not problem.is_connected(group):
                continue
            objection = self.memo.objection(group)
            if objection is not None and self.memo.costs.monotone:
                break
            if group.bit_count() > self.limits.group:
                self.too_large |= objection is None
                break
            if objection is None and self.demand.allows(group):
                found.append(group)
        return found


@dataclass
class GivenGroups(CandidateGroups):
    """The groups of a given sequence, one after the other."""

    sequence: Sequence[int] = ()

    def groups_after(self, done: int) -> Sequence[int]:
        return [next(group for group in self.sequence if not group & done)]
