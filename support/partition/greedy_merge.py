"""
Greedy merging of neighbouring groups of a graph without IR, while that reduces the
cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tlf.support.bit_sets import members
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import Context
from tlf.support.partition.hidden_transfers import standalone_time
from tlf.support.partition.objective import Objective
from tlf.support.partition.search_limits import Limits

GroupCost = tuple[int, int, int, int]
"""1 for a group that cannot run, then the rank of its best option."""

NO_COST: GroupCost = (0, 0, 0, 0)
IMPOSSIBLE: GroupCost = (1, 0, 0, 0)


@dataclass
class GreedyMerge:
    """
    Repeatedly merge the two neighbouring groups with the highest savings, starting from
    single operations, until no merge reduces the cost. Costs assume that nothing is
    retained.
    """

    memo: CostMemo
    limits: Limits
    objective: Objective
    _part: list[int] = field(init=False)
    """Group of each operation."""
    _gains: dict[tuple[int, int], GroupCost] = field(init=False)
    """Positive savings of merging two groups."""

    def merge_groups(self) -> list[int]:
        """Return the groups in an order in which they can run."""
        self._part = [1 << n for n in range(len(self.memo.groups.problem.nodes))]
        self._gains = {}
        for group in list(self._part):
            self._update_gains(group)
        while self._gains:
            pair = max(self._gains, key=self._gains.__getitem__)
            del self._gains[pair]
            first, second = pair
            if not (self._has_path(first, second) or self._has_path(second, first)):
                self._merge(first, second)
        return self._sort_groups()

    def _merge(self, first: int, second: int) -> None:
        merged = first | second
        for index in members(merged):
            self._part[index] = merged
        self._gains = {
            pair: gain
            for pair, gain in self._gains.items()
            if not merged & (pair[0] | pair[1])
        }
        self._update_gains(merged)

    def _update_gains(self, part: int) -> None:
        """Record the savings of merging a group with each neighbour."""
        neighbours = 0
        for index in members(part):
            neighbours |= self.memo.groups.problem.neighbours[index]
        for other in dict.fromkeys(
            self._part[each] for each in members(neighbours & ~part)
        ):
            pair = (min(part, other), max(part, other))
            together = self._cost_of(part | other)
            if together == IMPOSSIBLE:
                continue
            costs = zip(
                self._cost_of(part), self._cost_of(other), together, strict=True
            )
            broken, total, time, bytes_ = (one + two - both for one, two, both in costs)
            if (gain := (broken, total, time, bytes_)) > NO_COST:
                self._gains[pair] = gain

    def _cost_of(self, group: int) -> GroupCost:
        """Return the cost of a group with nothing retained."""
        too_large = group.bit_count() > self.limits.group
        if too_large or self.memo.objection(group) is not None:
            return IMPOSSIBLE
        if not self.memo.is_runnable(group):
            return IMPOSSIBLE
        context = Context(0, 0, self.memo.groups.boundary(group).outputs, 0)
        rank = self.objective.rank
        options = self.memo.options(group, context)
        costs = [
            (0, *rank(standalone_time(option), option.bytes)) for option in options
        ]
        return min(costs, default=IMPOSSIBLE)

    def _has_path(self, first: int, second: int) -> bool:
        """
        Return `True` if the second of two groups depends on the first transitively,
        through other groups.
        """
        visited = first | second
        pending = self._successors(first) & ~visited
        while pending:
            group = self._part[pending.bit_length() - 1]
            visited |= group
            after = self._successors(group)
            if after & second:
                return True
            pending = (pending | after) & ~visited
        return False

    def _successors(self, group: int) -> int:
        result = 0
        for index in members(group):
            result |= self.memo.groups.problem.successors[index]
        return result

    def _sort_groups(self) -> list[int]:
        """Return the groups in topological order."""
        problem = self.memo.groups.problem
        ordered: list[int] = []
        done, remaining = 0, list(dict.fromkeys(self._part))
        while remaining:
            group = next(
                group for group in remaining if not self._predecessors_of(group) & ~done
            )
            ordered.append(group)
            remaining.remove(group)
            done |= group
        assert done == problem.all_operations
        return ordered

    def _predecessors_of(self, part: int) -> int:
        """
        Return the predecessors of a group: operations outside of it that its operations
        read from.
        """
        result = 0
        for index in members(part):
            result |= self.memo.groups.problem.predecessors[index]
        return result & ~part
