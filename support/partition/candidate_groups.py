"""Candidate groups that may extend a downset of the graph partition, without IR."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.bit_sets import elements_of_mask
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.search_limits import Limits


@dataclass(frozen=True)
class FusionConstraint:
    """Constraint on a schedule: operations that must be in one group, if any."""

    fused_operations: int = 0

    def is_satisfied_by(self, group: int) -> bool:
        """Return `True` if a group contains all of the operations or none."""
        return group & self.fused_operations in (0, self.fused_operations)


@dataclass
class CandidateGroups(ABC):
    """
    Base of enumerations of the groups, as bit sets of operations, that may run next.
    """

    memo: CostMemo
    limits: Limits
    demand: FusionConstraint = field(default_factory=FusionConstraint)
    too_large: bool = False
    """True if groups were dropped because of their number of operations."""
    too_many: bool = False
    """True if groups were dropped because of the number of groups."""

    @abstractmethod
    def groups_after(self, done: int) -> Sequence[int]:
        """Return the candidate groups of the downset `done`."""


@dataclass
class ConnectedGroups(CandidateGroups):
    """
    Enumeration of all connected groups that extend a downset to another one.

    The union of the downset and such a group is closed under predecessors, as the
    downset itself is, so the group is convex: no path leaves it and comes back. Groups
    are grown from one operation whose predecessors are done. As a group is connected,
    some operation outside of a closed part of it reads from the part (or reads the same
    value), and is added together with its ancestors. The intermediate parts are groups
    themselves, so an objection against one also holds for the groups grown from it.
    """

    def groups_after(self, done: int) -> Sequence[int]:
        """
        Return the feasible connected groups after `done`, grown breadth-first from
        ready operations within the limits.
        """
        successors = self.memo.groups.problem.successors_or_siblings
        pending = deque(
            (1 << n, successors[n]) for n in self._operations_ready_after(done)
        )
        visited = {group for group, _ in pending}
        groups: list[int] = []
        while pending:
            group, frontier = pending.popleft()
            objection = self.memo.objection_to_group(group)
            if objection is not None and self.memo.costs.monotone:
                continue
            if group.bit_count() > self.limits.group:
                self.too_large |= objection is None
                continue
            if objection is None and self.demand.is_satisfied_by(group):
                groups.append(group)
            for larger in self._expand_connected_group(done, group, frontier):
                if larger[0] not in visited:
                    visited.add(larger[0])
                    pending.append(larger)
            if len(visited) > self.limits.candidates:
                self.too_many = True
                break
        return groups

    def _operations_ready_after(self, done: int) -> Iterator[int]:
        """
        Yield the operations outside of the downset `done` with all predecessors in it.
        """
        problem = self.memo.groups.problem
        for index in elements_of_mask(problem.all_operations & ~done):
            if not problem.predecessors[index] & ~done:
                yield index

    def _expand_connected_group(
        self, done: int, group: int, reached: int
    ) -> Iterator[tuple[int, int]]:
        """
        Yield the group extended by one more operation and its ancestors, with the new
        frontier.
        """
        problem = self.memo.groups.problem
        outside = ~(done | group)
        for op in elements_of_mask(reached & outside):
            added = (1 << op) | (problem.ancestors[op] & outside)
            frontier = reached
            for new_op in elements_of_mask(added):
                frontier |= problem.successors_or_siblings[new_op]
            yield group | added, frontier


@dataclass
class ContiguousGroups(CandidateGroups):
    """
    Connected groups of operations with consecutive indices: dynamic programming over
    intervals of one order, as compilers use it for chains.
    """

    def groups_after(self, done: int) -> Sequence[int]:
        """
        Return the feasible connected intervals that start at the first operation after
        `done`.
        """
        problem = self.memo.groups.problem
        groups: list[int] = []
        group = 0
        for index in range(done.bit_count(), len(problem.nodes)):
            group |= 1 << index
            if not problem.is_connected(group):
                continue
            objection = self.memo.objection_to_group(group)
            if objection is not None and self.memo.costs.monotone:
                break
            if group.bit_count() > self.limits.group:
                self.too_large |= objection is None
                break
            if objection is None and self.demand.is_satisfied_by(group):
                groups.append(group)
        return groups


@dataclass
class FixedGroups(CandidateGroups):
    """
    Enumeration of a given sequence: its first group that has not run is the only one.
    """

    sequence: Sequence[int] = ()

    def groups_after(self, done: int) -> Sequence[int]:
        return [next(group for group in self.sequence if not group & done)]
