"""Groups by joining neighbours as long as this pays at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from tlf.support.partition.bits import members
from tlf.support.partition.costs import Context
from tlf.support.partition.limits import Limits
from tlf.support.partition.memo import Memo
from tlf.support.partition.objective import Objective
from tlf.support.partition.slack import alone

Price = tuple[int, int, int, int]
"""1 for a group that cannot run, then the rank of its best option."""

FREE: Price = (0, 0, 0, 0)
IMPOSSIBLE: Price = (1, 0, 0, 0)


@dataclass
class Joining:
    """
    Joins the two neighbouring groups that save most, again and again, from each
    operation alone on, until no pair costs less together than apart. Nothing is
    retained while this is judged.
    """

    memo: Memo
    limits: Limits
    objective: Objective
    _part: list[int] = field(init=False)
    """The group of each operation."""
    _gains: dict[tuple[int, int], Price] = field(init=False)
    """Savings from joining two groups, where there are any."""

    def groups(self) -> list[int]:
        """The groups in an order in which they can run."""
        self._part = [1 << n for n in range(len(self.memo.groups.problem.nodes))]
        self._gains = {}
        for part in list(self._part):
            self._judge(part)
        while self._gains:
            pair = max(self._gains, key=self._gains.__getitem__)
            del self._gains[pair]
            first, second = pair
            if not (self._leads(first, second) or self._leads(second, first)):
                self._join(first, second)
        return self._ordered()

    def _join(self, first: int, second: int) -> None:
        joined = first | second
        for number in members(joined):
            self._part[number] = joined
        self._gains = {
            pair: gain
            for pair, gain in self._gains.items()
            if not joined & (pair[0] | pair[1])
        }
        self._judge(joined)

    def _judge(self, part: int) -> None:
        """Note what it saves to join a group with each neighbour."""
        near = 0
        for number in members(part):
            near |= self.memo.groups.problem.neighbours[number]
        for other in dict.fromkeys(self._part[each] for each in members(near & ~part)):
            pair = (min(part, other), max(part, other))
            together = self._price(part | other)
            if together == IMPOSSIBLE:
                continue
            prices = zip(self._price(part), self._price(other), together, strict=True)
            broken, total, time, bytes_ = (
                one + two - both for one, two, both in prices
            )
            if (gain := (broken, total, time, bytes_)) > FREE:
                self._gains[pair] = gain

    def _price(self, group: int) -> Price:
        """Return the cost of a group with nothing retained."""
        too_large = group.bit_count() > self.limits.group
        if too_large or self.memo.objection(group) is not None:
            return IMPOSSIBLE
        if not self.memo.is_runnable(group):
            return IMPOSSIBLE
        context = Context(0, 0, self.memo.groups.boundary(group).outputs, 0)
        rank = self.objective.rank
        options = self.memo.options(group, context)
        prices = [(0, *rank(alone(option), option.bytes)) for option in options]
        return min(prices, default=IMPOSSIBLE)

    def _leads(self, first: int, second: int) -> bool:
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

    def _ordered(self) -> list[int]:
        """The groups, each after those it waits for."""
        problem = self.memo.groups.problem
        ordered: list[int] = []
        done, left = 0, list(dict.fromkeys(self._part))
        while left:
            part = next(part for part in left if not self._waits(part) & ~done)
            ordered.append(part)
            left.remove(part)
            done |= part
        assert done == problem.everything
        return ordered

    def _waits(self, part: int) -> int:
        """The operations outside of a group that it waits for."""
        waits = 0
        for number in members(part):
            waits |= self.memo.groups.problem.predecessors[number]
        return waits & ~part
