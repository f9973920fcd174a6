"""Greedy merging of neighbouring groups while that reduces cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from tlf.support.partition.bit_sets import members
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
    Joins the two neighbouring groups that save most, again and again, from each
    operation alone on, until no pair costs less together than apart. Nothing is
    retained while this is judged.
    """

    memo: CostMemo
    limits: Limits
    objective: Objective
    _part: list[int] = field(init=False)
    """The group of each operation."""
    _gains: dict[tuple[int, int], GroupCost] = field(init=False)
    """Savings from joining two groups, where there are any."""

    def merge_groups(self) -> list[int]:
        """The groups in an order in which they can run."""
        self._part = [1 << n for n in range(len(self.memo.groups.problem.nodes))]
        self._gains = {}
        for part in list(self._part):
            self._update_gains(part)
        while self._gains:
            pair = max(self._gains, key=self._gains.__getitem__)
            del self._gains[pair]
            first, second = pair
            if not (self._has_path(first, second) or self._has_path(second, first)):
                self._merge(first, second)
        return self._sort_groups()

    def _merge(self, first: int, second: int) -> None:
        joined = first | second
        for number in members(joined):
            self._part[number] = joined
        self._gains = {
            pair: gain
            for pair, gain in self._gains.items()
            if not joined & (pair[0] | pair[1])
        }
        self._update_gains(joined)

    def _update_gains(self, part: int) -> None:
        """Note what it saves to join a group with each neighbour."""
        near = 0
        for number in members(part):
            near |= self.memo.groups.problem.neighbours[number]
        for other in dict.fromkeys(self._part[each] for each in members(near & ~part)):
            pair = (min(part, other), max(part, other))
            together = self._cost_of(part | other)
            if together == IMPOSSIBLE:
                continue
            prices = zip(
                self._cost_of(part), self._cost_of(other), together, strict=True
            )
            broken, total, time, bytes_ = (
                one + two - both for one, two, both in prices
            )
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
        prices = [
            (0, *rank(standalone_time(option), option.bytes)) for option in options
        ]
        return min(prices, default=IMPOSSIBLE)

    def _has_path(self, first: int, second: int) -> bool:
        """
        Return `True` if the second of two groups depends on the first transitively,
        through other groups.
        """
        seen = first | second
        pending = self._successors(first) & ~seen
        while pending:
            part = self._part[pending.bit_length() - 1]
            seen |= part
            after = self._successors(part)
            if after & second:
                return True
            pending = (pending | after) & ~seen
        return False

    def _successors(self, group: int) -> int:
        found = 0
        for number in members(group):
            found |= self.memo.groups.problem.successors[number]
        return found

    def _sort_groups(self) -> list[int]:
        """The groups, each after those it waits for."""
        problem = self.memo.groups.problem
        ordered: list[int] = []
        done, left = 0, list(dict.fromkeys(self._part))
        while left:
            part = next(
                part for part in left if not self._predecessors_of(part) & ~done
            )
            ordered.append(part)
            left.remove(part)
            done |= part
        assert done == problem.all_operations
        return ordered

    def _predecessors_of(self, part: int) -> int:
        """The operations outside of a group that it waits for."""
        waits = 0
        for number in members(part):
            waits |= self.memo.groups.problem.predecessors[number]
        return waits & ~part
