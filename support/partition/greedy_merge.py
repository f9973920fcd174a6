"""
Greedy merging of neighbouring groups of a graph without IR, while that reduces the
cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tlf.support.bit_sets import elements_of_mask
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import ResidencyContext
from tlf.support.partition.hidden_transfers import time_without_earlier_groups
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
    _group_by_operation: list[int] = field(init=False)
    """Group of each operation."""
    _savings: dict[tuple[int, int], GroupCost] = field(init=False)
    """Positive savings of merging two groups."""

    def merge_groups(self) -> list[int]:
        """
        Merge single operations greedily, and return the groups, as bit sets, in an
        order in which they can run.
        """
        self._group_by_operation = [
            1 << n for n in range(len(self.memo.groups.problem.nodes))
        ]
        self._savings = {}
        for group in list(self._group_by_operation):
            self._update_merge_savings(group)
        while self._savings:
            pair = max(self._savings, key=self._savings.__getitem__)
            del self._savings[pair]
            first, second = pair
            if not (
                self._has_indirect_path(first, second)
                or self._has_indirect_path(second, first)
            ):
                self._merge_pair_of_groups(first, second)
        return self._sort_groups_topologically()

    def _merge_pair_of_groups(self, first: int, second: int) -> None:
        """
        Replace two groups by their union, and recompute the savings of merges with it.
        """
        merged = first | second
        for index in elements_of_mask(merged):
            self._group_by_operation[index] = merged
        self._savings = {
            pair: gain
            for pair, gain in self._savings.items()
            if not merged & (pair[0] | pair[1])
        }
        self._update_merge_savings(merged)

    def _update_merge_savings(self, group: int) -> None:
        """
        Record the savings of merging `group` with each neighbour, if they are positive.
        """
        neighbours = 0
        for index in elements_of_mask(group):
            neighbours |= self.memo.groups.problem.neighbours[index]
        for other in dict.fromkeys(
            self._group_by_operation[each]
            for each in elements_of_mask(neighbours & ~group)
        ):
            pair = (min(group, other), max(group, other))
            together = self._cost_without_retained_values(group | other)
            if together == IMPOSSIBLE:
                continue
            costs = zip(
                self._cost_without_retained_values(group),
                self._cost_without_retained_values(other),
                together,
                strict=True,
            )
            broken, total, time, bytes_ = (one + two - both for one, two, both in costs)
            if (gain := (broken, total, time, bytes_)) > NO_COST:
                self._savings[pair] = gain

    def _cost_without_retained_values(self, group: int) -> GroupCost:
        """
        Return the lowest cost of a group that loads all inputs and stores all outputs;
        `IMPOSSIBLE` if it cannot run.
        """
        too_large = group.bit_count() > self.limits.group
        if too_large or self.memo.objection_to_group(group) is not None:
            return IMPOSSIBLE
        if not self.memo.is_runnable(group):
            return IMPOSSIBLE
        context = ResidencyContext(0, 0, self.memo.groups.boundary_of(group).outputs, 0)
        rank = self.objective.sort_key_of_cost
        options = self.memo.options_of_group(group, context)
        costs = [
            (0, *rank(time_without_earlier_groups(option), option.bytes))
            for option in options
        ]
        return min(costs, default=IMPOSSIBLE)

    def _has_indirect_path(self, first: int, second: int) -> bool:
        """
        Return `True` if the second of two groups depends on the first transitively,
        through other groups.
        """
        visited = first | second
        pending = self._successors_of(first) & ~visited
        while pending:
            group = self._group_by_operation[pending.bit_length() - 1]
            visited |= group
            after = self._successors_of(group)
            if after & second:
                return True
            pending = (pending | after) & ~visited
        return False

    def _successors_of(self, group: int) -> int:
        """
        Return the direct successors of operations, as a set that may include members.
        """
        result = 0
        for index in elements_of_mask(group):
            result |= self.memo.groups.problem.successors[index]
        return result

    def _sort_groups_topologically(self) -> list[int]:
        """Return the current groups, as bit sets, each after its predecessors."""
        problem = self.memo.groups.problem
        ordered: list[int] = []
        done, remaining = 0, list(dict.fromkeys(self._group_by_operation))
        while remaining:
            group = next(
                group for group in remaining if not self._predecessors_of(group) & ~done
            )
            ordered.append(group)
            remaining.remove(group)
            done |= group
        assert done == problem.all_operations
        return ordered

    def _predecessors_of(self, group: int) -> int:
        """
        Return the predecessors of a group: operations outside of it that its operations
        read from.
        """
        result = 0
        for index in elements_of_mask(group):
            result |= self.memo.groups.problem.predecessors[index]
        return result & ~group
