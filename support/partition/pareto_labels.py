"""Pareto-optimal labels of paths to a search state."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from tlf.support.partition.cost_model import Option
from tlf.support.partition.hidden_transfers import advance_slack
from tlf.support.partition.objective import Objective
from tlf.support.partition.schedule import Schedule, Step
from tlf.support.partition.transitions import Transition

Rank = tuple[int, int, int, int]
"""That of the objective, then the number of groups: the fewest if costs are equal."""


KEYS = (1 << 64) - 1
"""Keys of ways are taken modulo one more than this."""

SLACKS = 4
"""Ways to a state that are kept because they leave more slack than faster ones."""


@dataclass(slots=True, eq=False)
class Label:
    """One way to a state: what it costs so far, its last step, and the way before."""

    time: int
    bytes: int
    rank: Rank
    move: Transition | None = None
    option: Option | None = None
    before: Label | None = None
    slack: int = 0
    """Cycles of early moves of the next group that are hidden."""
    key: int = 0
    """Equal for ways that take the same steps, in whatever order."""

    def path(self) -> list[Label]:
        """The labels on the way, this one last, without that of the start."""
        found: list[Label] = []
        label = self
        while label.before is not None:
            found.append(label)
            label = label.before
        return found[::-1]

    def to_schedule(self) -> Schedule:
        """All steps of the way."""
        steps = tuple(
            Step(label.move.group, label.move.context, label.option)
            for label in self.path()
            if label.move is not None and label.option is not None
        )
        return Schedule(steps, self.time, self.bytes)


START = Label(0, 0, (0, 0, 0, 0))
"""Nothing is done."""


@dataclass(frozen=True)
class ParetoFronts:
    """
    Keeps, of the ways to one state, those that no other one beats in both time and
    bytes, the `size` best of them in order of rank: Pareto-optimal labels, as in
    searches for shortest paths by several criteria (Martins 1984). What a way costs
    from a state on does not depend on the way there, so the others never win later.
    Of slack it does: where only the best is kept, so are a few that leave more of it.

    With more than one of `ways`, it keeps as many of the best instead, be they beaten
    or not, of those with the same steps the first.
    """

    objective: Objective
    size: int
    ways: int = 1

    def extend_label(self, before: Label, move: Transition, option: Option) -> Label:
        """The way that makes a move next."""
        time, slack = advance_slack(before.slack, option)
        time, bytes_ = before.time + time, before.bytes + option.bytes
        rank = (*self.objective.rank(time, bytes_), before.rank[3] + 1)
        return Label(time, bytes_, rank, move, option, before, slack)

    def append_bounds(
        self, front: list[Label], before: list[Label], move: Transition
    ) -> None:
        """Add the ways to a state that are one move longer, be they bounds or not."""
        front += [
            self.extend_label(label, move, option)
            for label in before
            for option in move.outcome.options
        ]

    def extend_front(
        self, front: list[Label], before: list[Label], move: Transition
    ) -> None:
        """Put the ways to a state one move further into the front of the next one."""
        options = move.outcome.options
        for label in before:
            for option in options:
                time, slack = advance_slack(label.slack, option)
                time, bytes_ = label.time + time, label.bytes + option.bytes
                rank = (*self.objective.rank(time, bytes_), label.rank[3] + 1)
                if self.ways > 1:
                    if len(front) < self.ways or rank < front[-1].rank:
                        key = label.key + hash((move.group, *move.context.sets))
                        made = Label(time, bytes_, rank, move, option, label, slack)
                        made.key = key & KEYS
                        self._insert_by_rank(front, made)
                    continue
                made = Label(time, bytes_, rank, move, option, label, slack)
                if self.size > 1 and front:
                    self._insert_by_dominance(front, made)
                else:
                    self.insert_by_slack(front, made)

    def insert_by_slack(self, front: list[Label], label: Label) -> None:
        """Put a way among those that no other one is as good as, its slack included."""
        if any(self._is_dominating(other, label) for other in front):
            return
        front[:] = [other for other in front if not self._is_dominating(label, other)]
        insort(front, label, key=lambda each: each.rank)
        del front[SLACKS:]

    def _is_dominating(self, one: Label, other: Label) -> bool:
        """
        Return `True` if the slack that one label has less than the other cannot cost
        more than it saves.
        """
        less = self.objective.time * max(0, other.slack - one.slack)
        return (one.rank[0] + less, *one.rank[1:]) <= other.rank

    def _insert_by_rank(self, front: list[Label], label: Label) -> None:
        """Put a way among the best."""
        for number, other in enumerate(front):
            if other.key == label.key:
                if other.rank <= label.rank:
                    return
                del front[number]
                break
        insort(front, label, key=lambda each: each.rank)
        del front[self.ways :]

    def _insert_by_dominance(self, front: list[Label], label: Label) -> None:
        time, bytes_ = label.time, label.bytes
        for other in front:
            if (
                other.time <= time
                and other.bytes <= bytes_
                and other.rank <= label.rank
            ):
                return
        front[:] = [
            other for other in front if other.time < time or other.bytes < bytes_
        ]
        front.append(label)
        front.sort(key=lambda each: each.rank)
        del front[self.size :]
