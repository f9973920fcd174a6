"""Ways to reach a state of the search."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.passes.search.objective import Objective
from tlf.passes.search.schedule import Schedule, Step

State = tuple[int, int]
"""The values in the retained memory, and those of them that are nowhere else."""

Rank = tuple[int, int, int, int]
"""That of the objective, then the number of groups: the fewest if costs are equal."""


@dataclass(slots=True, eq=False)
class Label:
    """One way to a state: what it costs so far, its last step, and the way before."""

    time: int
    bytes: int
    rank: Rank
    step: Step | None = None
    before: Label | None = None

    def schedule(self) -> Schedule:
        """All steps of the way."""
        steps: list[Step] = []
        label: Label | None = self
        while label is not None and label.step is not None:
            steps.append(label.step)
            label = label.before
        return Schedule(tuple(reversed(steps)), self.time, self.bytes)


START = Label(0, 0, (0, 0, 0, 0))
"""Nothing is done."""


@dataclass(frozen=True)
class Fronts:
    """
    Keeps, of the ways to one state, those that no other one beats in both time and
    bytes, the `size` best of them in order of rank: Pareto-optimal labels, as in
    searches for shortest paths by several criteria (Martins 1984). What a way costs
    from a state on does not depend on the way there, so the others never win later.
    """

    objective: Objective
    size: int

    def add(self, front: list[Label], label: Label, step: Step) -> None:
        """Put a label one step further into the front of a state."""
        time, bytes_ = label.time + step.option.time, label.bytes + step.option.bytes
        rank = (*self.objective.rank(time, bytes_), label.rank[3] + 1)
        if self.size == 1 or not front:
            if not front or rank < front[0].rank:
                front[:] = [Label(time, bytes_, rank, step, label)]
            return
        for other in front:
            if other.time <= time and other.bytes <= bytes_ and other.rank <= rank:
                return
        front[:] = [
            other for other in front if other.time < time or other.bytes < bytes_
        ]
        front.append(Label(time, bytes_, rank, step, label))
        front.sort(key=lambda each: each.rank)
        del front[self.size :]
